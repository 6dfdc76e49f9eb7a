import { setTimeout as sleep } from 'node:timers/promises';
import type { ArtifactStore } from './artifact-store';
import { StoreConflictError } from './errors';

/** How long a change is repeated when others are faster. */
const PATIENCE_MS = 30_000;

/** Longest pause before a change is repeated. */
const MAX_PAUSE_MS = 250;

/**
 * Changes a document by compare-and-swap. When somebody else was faster, repeats the change on the new document, after
 * a pause of random length that grows with each time, for up to 30 s.
 * @param change gets the stored value, undefined if there is no document. It returns what to write, with a result for
 *   the caller; without `value`, nothing is written. It may run several times.
 * @param patienceMs how long, instead of 30 s.
 * @throws StoreConflictError when others were faster all the time; whatever `change` throws.
 */
export async function changeDocument<R>(
  store: ArtifactStore,
  key: string,
  change: (before: unknown) => { value?: unknown; result: R } | Promise<{ value?: unknown; result: R }>,
  patienceMs: number = PATIENCE_MS,
): Promise<R> {
  const until = Date.now() + patienceMs;
  for (let tries = 1; ; tries++) {
    const document = await store.readDocument(key);
    const { value, result } = await change(document?.value);
    if (value === undefined) return result;
    try {
      await store.swapDocument(key, value, document?.version ?? null);
      return result;
    } catch (error) {
      if (!(error instanceof StoreConflictError) || Date.now() > until) throw error;
      await sleep(Math.random() * Math.min(MAX_PAUSE_MS, 2 ** tries));
    }
  }
}
