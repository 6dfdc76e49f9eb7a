import { once } from 'node:events';
import { type ArtifactStore, StoreConflictError } from '../../store';
import type { TargetProfile } from '../environment-checks/target-profile';
import { profileFromJson, profileToJson, targetProfileJsonSchema } from './target-profile-json';

/** Keeps target profiles in the store, one for each run: reading a profile from the environment may take minutes. */
export class TargetProfileCache {
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(private readonly store: ArtifactStore) {}

  /**
   * The profile kept under `key`. If there is none, calls `read` and keeps the result. While another activity of this
   * process reads the same profile, the call waits; if that activity fails or is cancelled, it reads the profile
   * itself.
   * @throws what `read` throws; the signal's reason.
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
    const kept = await this.store.readDocument(key);
    // A profile of another version does not parse, and is read again.
    const written = targetProfileJsonSchema.safeParse(kept?.value);
    if (written.success) return profileFromJson(written.data);
    const profile = await read();
    await this.store.swapDocument(key, profileToJson(profile), kept?.etag ?? null).catch((error: unknown) => {
      // Another process was faster, and has kept the same profile.
      if (!(error instanceof StoreConflictError)) throw error;
    });
    return profile;
  }
}
