import { readdir } from 'node:fs/promises';
import { type ArtifactStore, isMissing } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';

/** Something in the store that a run refers to. */
export type Wanted =
  | { kind: 'artifact'; key: string; sha256: string; ref: ArtifactRef }
  | { kind: 'adapter'; key: string; sha256: string };

/** How it is: as the run left it, gone, or with other bytes. */
export type State = 'intact' | 'missing' | 'damaged';

/** Reads all of it and compares it with its hash. Throws what the file system says when it cannot be read at all. */
export async function stateOf(store: ArtifactStore, wanted: Wanted): Promise<State> {
  try {
    if (wanted.kind === 'adapter') {
      const path = store.localPath(wanted.key);
      // A folder without a readable file has a hash too.
      if ((await readdir(path)).length === 0) return 'missing';
      return (await modelDirectorySha256(path)) === wanted.sha256 ? 'intact' : 'damaged';
    }
    for await (const { line: _ } of store.lines(wanted.ref));
    return 'intact';
  } catch (error) {
    if (isMissing(error) || typeOf(error) === 'Store.Missing') return 'missing';
    const { code } = error as NodeJS.ErrnoException;
    if (typeOf(error) === 'Store.Corrupt' || code === 'EISDIR' || code === 'ENOTDIR') return 'damaged';
    throw error;
  }
}

const typeOf = (error: unknown): unknown => (error as { type?: unknown }).type;
