import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Hex sha256 of a file's bytes. */
export async function sha256OfFile(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
