/**
 * Waits until all promises have settled, even when one fails, then throws the first failure. If the workflow ended
 * earlier, the other promises would still run and write in parallel with its next attempt. A cancelled workflow must
 * not end before the work that it started.
 */
export async function settleAll<T>(promises: Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  return settled.map((outcome) => (outcome as PromiseFulfilledResult<T>).value);
}
