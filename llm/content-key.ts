import { createHash } from 'node:crypto';

/** Hex sha256 over parts, each with its length in front, so that no two lists of parts give the same bytes. */
export function contentKey(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}
