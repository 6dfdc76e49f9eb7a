import { createHash } from 'node:crypto';

/** Hex sha256 of a list of texts. Each is preceded by its length, so that different lists never give the same bytes. */
export function contentKey(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}
