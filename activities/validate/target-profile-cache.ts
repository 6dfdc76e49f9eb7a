import { once } from 'node:events';
import { type ArtifactStore, StoreConflictError } from '../../store';
import type { TargetProfile } from '../environment-checks/target-profile';
import { readProfile, writeProfile, writtenProfileSchema } from './target-profile-json';

/**
 * Profiles of agents' environments in the store. Reading one off the environment may take minutes: it is done once for
 * a run.
 */
export class TargetProfiles {
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(private readonly store: ArtifactStore) {}

  /**
   * The profile kept under a key, or else what `read` gives, which is kept then. Whoever asks while it is being read by
   * another activity of this process waits for that, and tries itself when that fails or is cancelled.
   * @throws what `read` throws; the signal's reason.
   */
  async of(key: string, signal: AbortSignal, read: () => Promise<TargetProfile>): Promise<TargetProfile> {
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
    // One of another version is read again.
    const written = writtenProfileSchema.safeParse(kept?.value);
    if (written.success) return readProfile(written.data);
    const profile = await read();
    await this.store.swapDocument(key, writeProfile(profile), kept?.etag ?? null).catch((error: unknown) => {
      // Another process was faster: what it keeps is the same.
      if (!(error instanceof StoreConflictError)) throw error;
    });
    return profile;
  }
}
