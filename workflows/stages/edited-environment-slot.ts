import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';

/**
 * Holds a person's edited environment for a capability until an attempt with it has ended. A newer edit replaces an
 * older one.
 */
export class EditedEnvironmentSlot {
  private source: ArtifactRef | null = null;
  private tried = false;

  /** Puts a new source in. */
  put(source: ArtifactRef): void {
    this.source = source;
    this.tried = false;
  }

  /** Whether it holds a source: no attempt with this source has ended. */
  get isHeld(): boolean {
    return this.source !== null;
  }

  /** Whether it holds a source that no attempt has begun with. */
  get hasUntried(): boolean {
    return this.source !== null && !this.tried;
  }

  /** The source for an attempt that begins now; null when there is none. */
  beginAttempt(): ArtifactRef | null {
    this.tried = this.source !== null;
    return this.source;
  }

  /**
   * Removes the source of an attempt that has ended, unless a newer one took its place. An attempt that failed has not
   * ended: the next attempt uses its source again.
   */
  endAttempt(source: ArtifactRef): void {
    if (this.source === source) this.source = null;
  }
}
