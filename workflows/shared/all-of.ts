/**
 * Waits for all, even when one fails: what goes on beside a workflow that has ended would write beside its next
 * attempt, and a cancelled workflow must not end before what it started. Throws the first failure.
 */
export async function allOf<T>(promises: Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  return settled.map((outcome) => (outcome as PromiseFulfilledResult<T>).value);
}
