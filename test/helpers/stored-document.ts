/** What accidents do to the documents of a local store. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
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
