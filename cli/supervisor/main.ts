/** Entry point of the detached supervisor: reads its plan as JSON from WHET_PLAN and stops on SIGTERM. */
import { logFatalErrors } from '../../contracts/log-fatal-errors';
import { CliError } from '../errors';
import { standardError } from '../output';
import type { Plan } from './plan';
import { supervise } from './supervisor';

async function main(): Promise<void> {
  logFatalErrors('supervisor');
  const text = process.env['WHET_PLAN'];
  if (text === undefined) throw new Error('WHET_PLAN is not set: `whet up` starts the supervisor with its plan.');
  delete process.env['WHET_PLAN'];
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  await supervise(JSON.parse(text) as Plan, stop.signal);
}

main().then(
  // Everything is stopped, so a connection that is still closing must not keep this process alive.
  () => process.exit(0),
  (error: unknown) => {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
    standardError.write(`${error instanceof CliError ? error.message : said}\n`);
    process.exit(1);
  },
);
