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
 * A file is read again only when it was changed, and once for all model servers that ask at the same time.
 */
export class AdapterCheck {
  /** Adapters with another hash, those that could not be read, and the checks under way. All by path and hash. */
  private readonly changed = new Set<string>();
  private readonly unreadable = new Set<string>();
  private readonly running = new Map<string, Promise<boolean>>();
  private readonly read = new Map<string, { stamp: FileStamp; sha256: string }>();
  private readonly hashes: FileHashes = {
    find: (path, stamp) => {
      const known = this.read.get(path);
      return Promise.resolve(known !== undefined && sameStamp(known.stamp, stamp) ? known.sha256 : undefined);
    },
    // A file that was just written may be written again without another time: clocks of file systems tick slowly. Where
    // the clock of a file server differs from this one by more, a file counts as settled at once: it is read once.
    keep: (path, stamp, sha256) => {
      const age = Date.now() - Number(BigInt(stamp.changed) / 1_000_000n);
      if (Math.abs(age) > SETTLED_MS) this.read.set(path, { stamp, sha256 });
      return Promise.resolve();
    },
  };

  constructor(private readonly log: Log) {}

  /**
   * The adapters whose files do not have another hash. Where the folder is not there, the model server tells that; what
   * cannot be read is what it was at the last reading. The log names each of the others once. Never rejects.
   */
  async unchanged(adapters: readonly WantedAdapter[]): Promise<WantedAdapter[]> {
    const found = await Promise.all(adapters.map((adapter) => this.shared(adapter)));
    return adapters.filter((_, index) => found[index]);
  }

  private shared(adapter: WantedAdapter): Promise<boolean> {
    const key = JSON.stringify([adapter.path, adapter.sha256]);
    const running = this.running.get(key) ?? this.isUnchanged(adapter, key).finally(() => this.running.delete(key));
    this.running.set(key, running);
    return running;
  }

  private async isUnchanged({ name, path, sha256 }: WantedAdapter, key: string): Promise<boolean> {
    let found: string | null;
    try {
      found = await modelDirectorySha256(path, { hashes: this.hashes });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') {
        if (!this.unreadable.has(key))
          this.log.error({ adapter: name, path, error: message }, 'the files of an adapter cannot be read');
        this.unreadable.add(key);
        return !this.changed.has(key);
      }
      found = null;
    }
    this.unreadable.delete(key);
    const isUnchanged = found === null || found === sha256;
    if (isUnchanged) this.changed.delete(key);
    else if (!this.changed.has(key)) {
      this.changed.add(key);
      this.log.error(
        { adapter: name, path, problem: `its files have the hash ${found?.slice(0, 12)}` },
        'an adapter is not what its version was promoted with and is not served; `whet repair RUN` makes it again',
      );
    }
    return isUnchanged;
  }
}
