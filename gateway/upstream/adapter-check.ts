import { type FileHashes, type FileStamp, modelDirectorySha256 } from '../../store/model-hash';
import type { Log } from '../log';

/** An adapter that a model server should have. */
export interface WantedAdapter {
  name: string;
  /** Directory in PEFT format, as the model server sees it. */
  path: string;
  /** Hash of the directory, by the registry. */
  sha256: string;
}

/** Age from which on the stamp of a file changes with its content. */
const SETTLED_MS = 2_000;

const sameStamp = (a: FileStamp, b: FileStamp): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * Compares adapters in the store with the hashes that the registry has for them: a file that somebody changed must not
 * answer under a promoted name. Model servers compare nothing, and vLLM reads an adapter again when it was displaced.
 * A file is read again only when it was changed.
 */
export class AdapterCheck {
  private readonly changed = new Set<string>();
  private readonly read = new Map<string, { stamp: FileStamp; sha256: string }>();
  private readonly hashes: FileHashes = {
    find: (path, stamp) => {
      const known = this.read.get(path);
      return Promise.resolve(known !== undefined && sameStamp(known.stamp, stamp) ? known.sha256 : undefined);
    },
    // A file that was just written may be written again without another time: clocks of file systems tick slowly.
    keep: (path, stamp, sha256) => {
      if (Date.now() - Number(BigInt(stamp.changed) / 1_000_000n) > SETTLED_MS) this.read.set(path, { stamp, sha256 });
      return Promise.resolve();
    },
  };

  constructor(private readonly log: Log) {}

  /**
   * The adapters whose files have their hash, and those whose folder is not there: that is told by the model server.
   * The log names each of the others once. Never rejects.
   */
  async unchanged(adapters: readonly WantedAdapter[]): Promise<WantedAdapter[]> {
    const found = await Promise.all(adapters.map((adapter) => this.isUnchanged(adapter)));
    return adapters.filter((_, index) => found[index]);
  }

  private async isUnchanged({ name, path, sha256 }: WantedAdapter): Promise<boolean> {
    let problem: string | null = null;
    try {
      const found = await modelDirectorySha256(path, { hashes: this.hashes });
      if (found !== sha256) problem = `its files have the hash ${found.slice(0, 12)}`;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') problem = message;
    }
    if (problem === null) this.changed.delete(name);
    else if (!this.changed.has(name)) {
      this.changed.add(name);
      this.log.error(
        { adapter: name, path, problem },
        'an adapter is not what its version was promoted with and is not served; `whet repair RUN` makes it again',
      );
    }
    return problem === null;
  }
}
