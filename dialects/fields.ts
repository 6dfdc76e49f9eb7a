/** Reads members of a request. Everything here throws DialectError with the path of what is wrong. */
import { startOf } from '../contracts/clean-text';
import { DialectError, type Fields } from './dialect';

/** Whether a value is an object and no list. */
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const shown = (value: unknown): string => startOf(JSON.stringify(value) ?? 'nothing', 60);

/** An object at `path`. */
export function object(value: unknown, path: string): Fields {
  if (isObject(value)) return value;
  throw new DialectError(`${path} must be an object, found ${shown(value)}.`, path);
}

/** A list at `path`; none counts as empty. */
export function list(value: unknown, path: string): unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new DialectError(`${path} must be a list, found ${shown(value)}.`, path);
}

/** A text at `path`. */
export function text(value: unknown, path: string): string {
  if (typeof value === 'string') return value;
  throw new DialectError(`${path} must be a text, found ${shown(value)}.`, path);
}

/** The refusal of a value that is none of those that are allowed. */
export const notAllowed = (value: unknown, path: string, allowed: readonly string[]): DialectError =>
  new DialectError(`${path} must be ${allowed.join(' or ')}, found ${shown(value)}.`, path);

/** Refuses members that would change the answer and that a chat completion does not have. */
export function refuse(fields: Fields, reasons: Readonly<Record<string, string>>): void {
  for (const [name, reason] of Object.entries(reasons)) {
    const value = fields[name];
    if (value !== undefined && value !== null && value !== false) throw new DialectError(`${name}: ${reason}`, name);
  }
}

/** The members with another name for a chat completion, without those that are absent. */
export function renamed(fields: Fields, names: Readonly<Record<string, string>>): Fields {
  const found: Fields = {};
  for (const [name, chatName] of Object.entries(names))
    if (fields[name] !== undefined && fields[name] !== null) found[chatName] = fields[name];
  return found;
}

/** A part of a message as a chat completion has it. */
export type ChatPart = { type: string; text?: string } & Fields;

/** Parts as the content of a message: a text where all of them are texts, else the list. */
export function contentOf(parts: readonly ChatPart[]): string | readonly ChatPart[] {
  return parts.every(({ type }) => type === 'text') ? parts.map((part) => part.text ?? '').join('\n') : parts;
}
