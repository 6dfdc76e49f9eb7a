import type { StoredAdapter } from '../../contracts/messages/evaluate-stage';
import type { ArtifactStore } from '../../store';
import { failure } from '../../contracts/typed-failure';
import { damagedFiles, modelDirectorySha256 } from '../../store/model-hash';

/** An adapter as the policy server loads it. */
export interface ServedAdapter {
  name: string;
  /** Absolute directory in PEFT format. */
  path: string;
}

/**
 * Gives trained adapters the names and directories that the policy server needs, and checks their hashes. For a damaged
 * adapter, a server would at best say that it cannot load it.
 * @throws Store.Corrupt, which names the directory and, if known, the file.
 */
export async function servedAdapters(
  store: ArtifactStore,
  adapters: readonly StoredAdapter[],
): Promise<ServedAdapter[]> {
  const served: ServedAdapter[] = [];
  for (const { name, key, sha256 } of adapters) {
    const path = store.localPath(key);
    const found = await modelDirectorySha256(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (found !== sha256) {
      const files = found === null ? ['the directory does not exist'] : await damagedFiles(path);
      throw failure(
        'Store.Corrupt',
        `The adapter ${name} in ${path} is damaged: ${files.join('; ') || 'its files have another hash'}. ` +
          '`whet repair RUN` makes it whole again, and the run goes on.',
      );
    }
    served.push({ name, path });
  }
  return served;
}
