/**
 * Runs `work` on every item, at most `limit` at a time, started in order. The first error aborts `stop` and is thrown
 * once everything that had started has settled; nothing new starts after that, or after `signal` was aborted.
 * @throws the first error of `work`, or the signal's reason.
 */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  signal: AbortSignal,
  stop: AbortController,
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
        stop.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  // What the episodes say after a cancellation is only its echo.
  if (signal.aborted) throw signal.reason;
  const first = failed as { error: unknown } | null;
  if (first) throw first.error;
}

/** Results of `work` in the order of the items, at most `limit` at a time. Rejects as `inParallel`. */
export async function mapInParallel<T, R>(
  items: readonly T[],
  limit: number,
  signal: AbortSignal,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  await inParallel(
    [...items.entries()],
    limit,
    signal,
    new AbortController(),
    async ([index, item]) => void (results[index] = await work(item)),
  );
  return results;
}
