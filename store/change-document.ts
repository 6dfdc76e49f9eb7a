import type { ArtifactStore } from './artifact-store';
import { StoreConflictError } from './errors';

/** How often a document is read again after somebody else changed it. */
const MAX_READS = 8;

/**
 * Changes a document by compare-and-swap. When somebody else was faster, repeats the change on the new document, at
 * most 8 times.
 * @param change gets the stored value, undefined if there is no document. It returns what to write, with a result for
 *   the caller; without `value`, nothing is written. It may run several times.
 * @throws StoreConflictError when others were faster every time; whatever `change` throws.
 */
export async function changeDocument<R>(
  store: ArtifactStore,
  key: string,
  change: (before: unknown) => { value?: unknown; result: R },
): Promise<R> {
  for (let read = 1; ; read++) {
    const document = await store.readDocument(key);
    const { value, result } = change(document?.value);
    if (value === undefined) return result;
    try {
      await store.swapDocument(key, value, document?.etag ?? null);
      return result;
    } catch (error) {
      if (!(error instanceof StoreConflictError) || read >= MAX_READS) throw error;
    }
  }
}
