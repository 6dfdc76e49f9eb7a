/** The time of `withinTime` is over. */
export class TimeOver extends Error {}

/**
 * The result of `work`. Rejects with TimeOver when it takes longer than `limitMs`. The work's signal
 * aborts then; nobody waits for work that does not listen to it. `AbortSignal.timeout` would do the same, but its
 * timers run on after the work has ended, which at many requests a second costs more than the work.
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
