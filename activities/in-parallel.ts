/** How parallel work is stopped. */
export interface StopOptions {
  /** Fired from outside: no new work starts, and the signal's reason is thrown. */
  signal: AbortSignal;
  /**
   * Fired here at the first error, so that running work can end early. Without it, running work continues to its end.
   */
  stop?: AbortController;
}

/**
 * Runs `work` on every item, in order, at most `limit` at a time. After the first error, and after `signal` fires, no
 * new work starts. The promise settles once all started work has settled.
 * @throws the reason of `signal` if it has fired, else the first error of `work`.
 */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  { signal, stop }: StopOptions,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed: { error: unknown } | null = null;
  const worker = async (): Promise<void> => {
    while (next < items.length && failed === null && !signal.aborted) {
      try {
        await work(items[next++]!);
      } catch (error) {
        failed ??= { error };
        stop?.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  // After an abort, errors of the work only repeat the abort.
  if (signal.aborted) throw signal.reason;
  const first = failed as { error: unknown } | null;
  if (first) throw first.error;
}

/** Results of `work` in the order of the items, at most `limit` at a time. Throws as `inParallel` does. */
export async function mapInParallel<T, R>(
  items: readonly T[],
  limit: number,
  signal: AbortSignal,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  await inParallel([...items.entries()], limit, { signal }, async ([index, item]) => {
    results[index] = await work(item);
  });
  return results;
}
