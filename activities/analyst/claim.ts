/** Claims decide which run, and which attempt, asks the analyst a question that several of them share. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { StoreConflictError, type ArtifactStore } from '../../store';

const claimSchema = z.object({
  /** Null: nobody is asking at the moment. */
  holder: z
    .object({
      runId: z.string(),
      /** Each attempt of an activity gets a new one. */
      owner: z.string(),
      /** Number of its questions when it began. */
      questions: z.number(),
    })
    .nullable(),
  /** Increases with each renewal, so that others see that the holder is alive. */
  renewals: z.number(),
});
type ClaimDocument = z.infer<typeof claimSchema>;

/** How often claims are renewed and read. */
export interface ClaimTiming {
  /** Milliseconds between two renewals. */
  renewMs: number;
  /** Milliseconds between two reads of another holder's claim. */
  lookMs: number;
  /** After this many reads in a row without a renewal, the holder counts as dead. */
  deadAfterLooks: number;
}

/** A holder is given up after 20 s, which is longer than Temporal waits for a heartbeat of labelling. */
export const CLAIM_TIMING: ClaimTiming = { renewMs: 3_000, lookMs: 1_000, deadAfterLooks: 20 };

/** The attempt that wants a claim, and its callbacks while it waits. */
export interface ClaimRequest {
  runId: string;
  questions: number;
  /** Ends the waiting. */
  signal: AbortSignal;
  /** Called with the holder while another run has the claim. */
  onWait: (holder: { runId: string; questions: number }) => void;
  timing?: ClaimTiming;
}

/**
 * A claim that this attempt holds. It is renewed until it is released. Its document is changed only by conditional
 * writes, so of two attempts one sees that it has lost.
 */
export class Claim {
  private readonly loss = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private renewing: Promise<void> | null = null;
  private renewedAt = performance.now();

  private constructor(
    private readonly store: ArtifactStore,
    private readonly key: string,
    private document: ClaimDocument,
    /** Null: the document cannot be read or written, so others do not know the claim. */
    private version: string | null,
    private readonly timing: ClaimTiming,
    /**
     * Whether another attempt held the claim before. If so, questions may have been answered since their last look-up.
     */
    readonly wasHeld: boolean,
  ) {
    this.timer = setInterval(() => void this.renew(), timing.renewMs);
    this.timer.unref();
  }

  /**
   * Waits until nobody else holds the claim and takes it. It takes the claim at once from an earlier attempt of the
   * same run, and from another run that has stopped renewing it.
   *
   * If the document cannot be read or written, because the disk is full, the attempt continues and holds the claim
   * without the knowledge of others. Throws the signal's reason when the signal fires.
   */
  static async take(store: ArtifactStore, key: string, request: ClaimRequest): Promise<Claim> {
    const { runId, questions, signal, timing = CLAIM_TIMING } = request;
    const own = { runId, owner: randomUUID(), questions };
    let [seen, looks] = [null as string | null, 0];
    for (;;) {
      const read = await readClaim(store, key);
      if (read === null) return new Claim(store, key, { holder: own, renewals: 0 }, null, timing, true);
      const { claim, version } = read;
      const other = claim.holder !== null && claim.holder.runId !== runId ? claim.holder : null;
      looks = version === seen ? looks + 1 : 0;
      seen = version;
      if (other === null || looks >= timing.deadAfterLooks) {
        const document = { holder: own, renewals: claim.renewals + 1 };
        try {
          const written = await store.swapDocument(key, document, version);
          return new Claim(store, key, document, written, timing, version !== null);
        } catch (error) {
          if (!(error instanceof StoreConflictError)) return new Claim(store, key, document, null, timing, true);
          continue;
        }
      }
      request.onWait(other);
      await sleep(timing.lookMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  /** Fires when another attempt has taken the claim. */
  get lost(): AbortSignal {
    return this.loss.signal;
  }

  /**
   * Call it before each question. If the attempt's process was stopped for a while, this call finds out whether another
   * attempt has taken over. Rejects with the reason of `lost`.
   */
  async confirm(): Promise<void> {
    if (performance.now() - this.renewedAt > 2 * this.timing.renewMs) await this.renew();
    this.lost.throwIfAborted();
  }

  /** Releases the claim for others that wait. Never rejects: others take over a claim that was not released. */
  async release(): Promise<void> {
    clearInterval(this.timer);
    await this.renewing;
    if (this.lost.aborted || this.version === null) return;
    const { renewals } = this.document;
    await this.store
      .swapDocument(this.key, { holder: null, renewals: renewals + 1 }, this.version)
      .catch(() => undefined);
  }

  private renew(): Promise<void> {
    this.renewing ??= this.renewNow().finally(() => (this.renewing = null));
    return this.renewing;
  }

  private async renewNow(): Promise<void> {
    if (this.version === null || this.lost.aborted) return;
    const next = { ...this.document, renewals: this.document.renewals + 1 };
    try {
      this.version = await this.store.swapDocument(this.key, next, this.version);
      this.document = next;
      this.renewedAt = performance.now();
    } catch (error) {
      // Other errors, such as a full disk, say nothing about the holder of the claim.
      if (!(error instanceof StoreConflictError)) return;
      const holder = (await readClaim(this.store, this.key))?.claim.holder ?? null;
      this.loss.abort(new ClaimLostError(this.key, holder?.runId === this.document.holder?.runId));
    }
  }
}

/** Another attempt or run has taken this claim. */
export class ClaimLostError extends Error {
  /** @param toOwnRun whether a later attempt of the same run took it, so that this attempt is over. */
  constructor(
    key: string,
    readonly toOwnRun: boolean,
  ) {
    super(`${toOwnRun ? 'A later attempt of this run' : 'Another run'} asks these questions now (${key}).`);
  }
}

/** A document that is not a claim counts as not held. Null: it cannot be read. */
async function readClaim(
  store: ArtifactStore,
  key: string,
): Promise<{ claim: ClaimDocument; version: string | null } | null> {
  try {
    const document = await store.readDocument(key);
    const claim = claimSchema.safeParse(document?.value).data ?? { holder: null, renewals: 0 };
    return { claim, version: document?.version ?? null };
  } catch {
    return null;
  }
}
