import { readdir } from 'node:fs/promises';
import { type ArtifactRef, artifactRefSchema } from '../../contracts/artifacts/artifact-ref';
import { type ArtifactStore, isMissing } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';

/** Something in the store that a run refers to. For an adapter, sha256 is the hash of its directory. */
export type Wanted = ({ kind: 'artifact' } & ArtifactRef) | { kind: 'adapter'; key: string; sha256: string };

/** Everything that a value refers to in the store, at any depth. Two mentions of one artifact give two entries. */
export function artifactsIn(value: unknown): Wanted[] {
  if (typeof value !== 'object' || value === null) return [];
  const ref = artifactRefSchema.safeParse(value);
  if (ref.success) return [{ kind: 'artifact', ...ref.data }];
  const found = Object.values(value).flatMap(artifactsIn);
  const { key, sha256, manifest } = value as Record<string, unknown>;
  if (typeof key === 'string' && typeof sha256 === 'string' && typeof manifest === 'object')
    found.push({ kind: 'adapter', key, sha256 });
  return found;
}

/** Its state: unchanged, missing, or with other bytes. */
export type State = 'intact' | 'missing' | 'damaged';

/**
 * Reads the whole artifact and compares it with its hash. Throws the file system's error if it cannot be read at all.
 */
export async function stateOf(store: ArtifactStore, wanted: Wanted): Promise<State> {
  try {
    if (wanted.kind === 'adapter') {
      const path = store.localPath(wanted.key);
      // A folder without a readable file has a hash, too.
      if ((await readdir(path)).length === 0) return 'missing';
      return (await modelDirectorySha256(path)) === wanted.sha256 ? 'intact' : 'damaged';
    }
    for await (const { line: _ } of store.lines(wanted));
    return 'intact';
  } catch (error) {
    if (isMissing(error) || typeOf(error) === 'Store.Missing') return 'missing';
    const { code } = error as NodeJS.ErrnoException;
    if (typeOf(error) === 'Store.Corrupt' || code === 'EISDIR' || code === 'ENOTDIR') return 'damaged';
    throw error;
  }
}

const typeOf = (error: unknown): unknown => (error as { type?: unknown }).type;
