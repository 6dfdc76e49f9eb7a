/** The time limit of `withinTime` has passed. */
export class TimeOver extends Error {}

/**
 * The result of `work`. Rejects with TimeOver if it takes longer than `limitMs`. Then the work's signal fires; work
 * that ignores it continues, but nobody waits for it. `AbortSignal.timeout` would do the same, but its timers keep
 * running after the work has ended. With many requests a second, that costs more than the work.
 */
export async function withinTime<T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const over = new TimeOver(`It took longer than ${limitMs} ms.`);
      reject(over);
      controller.abort(over);
    }, limitMs);
  });
  try {
    return await Promise.race([work(controller.signal), limit]);
  } finally {
    clearTimeout(timer);
  }
}
