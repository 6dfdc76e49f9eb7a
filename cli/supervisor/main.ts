/** The detached supervisor: takes its plan as JSON in WHET_PLAN, writes to its log, stops on SIGTERM. */
import type { Plan } from './plan';
import { supervise } from './supervisor';

async function main(): Promise<void> {
  const text = process.env['WHET_PLAN'];
  if (text === undefined) throw new Error('The supervisor is started by `whet up`; it found no plan.');
  delete process.env['WHET_PLAN'];
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  await supervise(JSON.parse(text) as Plan, stop.signal);
}

main().then(
  // A connection that is still closing must not keep a supervisor alive that has stopped everything.
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
