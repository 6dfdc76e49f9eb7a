/** What accidents do to the documents of a local store, and documents that no store wrote. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ArtifactStore } from '../../store';

/** Overwrites the content that counts. */
export function damageDocument(store: ArtifactStore, key: string, text: string): void {
  const folder = `${store.localPath(key)}.versions`;
  const head = readdirSync(folder).find((name) => name.startsWith('head-'));
  if (head === undefined) throw new Error(`Document ${key} has no head.`);
  writeFileSync(join(folder, `content-${head.slice('head-'.length)}.json`), text);
}

/** Removes a document as if it had never been there. */
export function removeDocument(store: ArtifactStore, key: string): void {
  rmSync(`${store.localPath(key)}.versions`, { recursive: true });
}

/**
 * Writes a document as the store would have, and returns the paths of its two files.
 * @param written what the store had written. Where `text` is something else, the document is damaged.
 */
export function writeDocument(path: string, text: string | Buffer, written = text): [content: string, head: string] {
  const folder = `${path}.versions`;
  const sha256 = createHash('sha256').update(written).digest('hex').slice(0, 16);
  const version = `00000001-${sha256}-0123456789ab`;
  const [content, head] = [join(folder, `content-${version}.json`), join(folder, `head-${version}`)];
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(content, text);
  writeFileSync(head, '');
  return [content, head];
}
