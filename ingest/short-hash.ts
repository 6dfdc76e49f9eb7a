import { hash } from 'node:crypto';

/** A name of 12 bytes for a text, for sets of many. */
export const shortHash = (text: string): string => hash('sha256', text, 'binary').slice(0, 12);
