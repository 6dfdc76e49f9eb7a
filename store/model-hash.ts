import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** File extensions of what belongs to a model or adapter: configuration, tokenizer, weights. */
const MODEL_FILES = new Set(['.json', '.safetensors', '.jinja', '.txt', '.model']);

/**
 * Hash of a model's or adapter's directory, equal to the one that the trainer computes
 * (`whetstone.tree_hash`): sha256 over `name NUL sha256-hex LF` of each of its files, sorted by name.
 * Rejects when the directory cannot be read.
 */
export async function modelDirectorySha256(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && MODEL_FILES.has(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length).replace(/^\/+/, ''));
  const total = createHash('sha256');
  // By code unit, as Python sorts; localeCompare would not.
  for (const name of names.sort((a, b) => (a < b ? -1 : 1)))
    total.update(`${name}\0${await fileSha256(join(directory, name))}\n`);
  return total.digest('hex');
}

async function fileSha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
