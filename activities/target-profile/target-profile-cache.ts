import { once } from 'node:events';
import { type ArtifactStore, changeDocument } from '../../store';
import type { TargetProfile } from '../environment-checks/target-profile';
import { storedProfileSchema } from './target-profile-schema';

/** Stores one target profile for each run, because reading a profile from the environment may take minutes. */
export class TargetProfileCache {
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(private readonly store: ArtifactStore) {}

  /**
   * The profile stored under `key`. If there is none, calls `read` and stores the result. While another activity of
   * this process reads the same profile, the call waits. If that activity fails or is cancelled, the call reads the
   * profile itself.
   * @throws the errors of `read`; the signal's reason.
   */
  async load(key: string, signal: AbortSignal, read: () => Promise<TargetProfile>): Promise<TargetProfile> {
    for (let other = this.underWay.get(key); other !== undefined; other = this.underWay.get(key)) {
      await Promise.race([other.catch(() => undefined), once(signal, 'abort')]);
      signal.throwIfAborted();
    }
    const reading = this.keptOrRead(key, read);
    this.underWay.set(key, reading);
    try {
      return await reading;
    } finally {
      this.underWay.delete(key);
    }
  }

  private async keptOrRead(key: string, read: () => Promise<TargetProfile>): Promise<TargetProfile> {
    // A profile of another version does not parse, and is read again.
    const known = (value: unknown): TargetProfile | null => storedProfileSchema.safeParse(value).data?.profile ?? null;
    const kept = known((await this.store.readDocument(key))?.value);
    if (kept !== null) return kept;
    const profile = await read();
    // Another process may have stored the same profile first.
    return changeDocument(this.store, key, (value) => {
      const faster = known(value);
      return faster === null
        ? { value: storedProfileSchema.encode({ version: 6, profile }), result: profile }
        : { result: faster };
    });
  }
}
