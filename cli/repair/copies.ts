import { createHash } from 'node:crypto';
import { basename, dirname, extname } from 'node:path/posix';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type ArtifactStore, readWholeFile } from '../../store';

/**
 * Restores an artifact from a file of its folder with the same bytes: for example, a report also exists under a plain
 * name. Returns that file's key, or null if there is none.
 */
export async function restoreFromCopy(store: ArtifactStore, ref: ArtifactRef): Promise<string | null> {
  const directory = dirname(ref.key);
  const extension = extname(ref.key);
  for (const name of await store.list(directory)) {
    const key = `${directory}/${name}`;
    if (key === ref.key || extname(name) !== extension) continue;
    const data = await readWholeFile(store.localPath(key), ref.bytes).catch(() => null);
    if (data?.length !== ref.bytes || createHash('sha256').update(data).digest('hex') !== ref.sha256) continue;
    const stem = basename(ref.key, extension).replace(/-[0-9a-f]{12}$/, '');
    const { mediaType, records } = ref;
    const restored = await store.put(directory, `${stem}${extension}`, data, {
      mediaType,
      ...(records !== undefined && { records }),
    });
    return restored.key === ref.key ? key : null;
  }
  return null;
}
