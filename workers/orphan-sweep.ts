import { setTimeout as sleep } from 'node:timers/promises';

/** Time between two sweeps. */
const EVERY_MS = 60_000;

/** Stops trainers that no run needs any more. Returns their runs. */
type Sweep = () => Promise<string[]>;

/**
 * Sweeps now and every minute until the returned function is called. A run does not stop its trainers if it was
 * terminated, or cancelled while no worker was alive. A sweep fails when Temporal or the cluster does not answer. The
 * next sweep repeats it; the failure is logged once.
 * @param name the objects that the sweep stops, for the log.
 */
export function sweepOrphans(name: string, sweep: Sweep, everyMs = EVERY_MS): () => void {
  const stop = new AbortController();
  void repeat(name, sweep, everyMs, stop.signal);
  return () => stop.abort();
}

async function repeat(name: string, sweep: Sweep, everyMs: number, signal: AbortSignal): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    try {
      for (const runId of await sweep())
        console.log(`Stopped the ${name} of ${runId}: nobody waits for them any more.`);
      said = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== said) console.error(`The ${name} of runs that have ended could not be looked for: ${message}`);
      said = message;
    }
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
