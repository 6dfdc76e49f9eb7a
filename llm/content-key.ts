import { createHash } from 'node:crypto';

/** Hex sha256 of a list of texts. The length precedes each text, so that different lists never give the same bytes. */
export function contentKey(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}
