import { setTimeout as sleep } from 'node:timers/promises';
import type { ArtifactStore } from './artifact-store';
import { StoreConflictError } from './errors';

/** How long a change is repeated if others are faster. */
const PATIENCE_MS = 30_000;

/** Longest pause before a change is repeated. */
const MAX_PAUSE_MS = 250;

/**
 * Changes a document by compare-and-swap. If another writer was faster, it repeats the change on the new document for
 * up to 30 s. The pauses in between are random and grow each time.
 * @param change gets the stored value, undefined if there is no document. It returns the value to write, with a result
 *   for the caller; without `value`, nothing is written. It may run several times.
 * @param patienceMs time limit instead of 30 s.
 * @throws StoreConflictError if others were faster all the time; any error of `change`.
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
