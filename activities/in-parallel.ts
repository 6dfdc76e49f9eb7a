/** How work that runs in parallel is stopped. */
export interface StopOptions {
  /** Aborted from outside: nothing new starts, and its reason is thrown. */
  signal: AbortSignal;
  /**
   * Aborted here at the first error, so that the work under way can end early. Default: that work continues to its end.
   */
  stop?: AbortController;
}

/**
 * Runs `work` on every item, at most `limit` at a time, started in order. After the first error, and after an abort of
 * `signal`, nothing new starts; the promise settles once everything that had started has settled.
 * @throws the reason of `signal` if it was aborted, else the first error of `work`.
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
  // Errors of the work after an abort only repeat the abort.
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
