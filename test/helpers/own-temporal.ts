/** A Temporal server of a test's own, with a database in a file, that can be ended and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { requireTemporalCli } from '../../cli/supervisor/executables';
import { freePort } from '../../cli/supervisor/ports';

/** A running server. */
export interface OwnTemporal {
  child: ChildProcess;
  port: number;
  uiPort: number;
}

/** The services inside the server take ports that another test may take first: then it ends, and is started again. */
const MOST_STARTS = 20;

/** Starts a server at free ports, or at those that an earlier one had. Resolves when it answers. */
export async function startOwnTemporal(
  database: string,
  earlier: Pick<OwnTemporal, 'port' | 'uiPort'> | null = null,
): Promise<OwnTemporal> {
  for (let starts = 1; starts <= MOST_STARTS; starts++) {
    const { port, uiPort } = earlier ?? { port: await freePort(), uiPort: await freePort() };
    const flags = ['--port', `${port}`, '--ui-port', `${uiPort}`, '--db-filename', database, '--log-level', 'never'];
    const child = spawn(requireTemporalCli(), ['server', 'start-dev', ...flags], { stdio: 'ignore' });
    if (await answers(child, port)) return { child, port, uiPort };
  }
  throw new Error(`The Temporal server ended ${MOST_STARTS} times before it answered.`);
}

/** Ends a server. Resolves at once when it has ended. */
export async function endOwnTemporal({ child }: OwnTemporal, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Waits until the server answers. False when it has ended. */
async function answers(child: ChildProcess, port: number): Promise<boolean> {
  for (;;) {
    try {
      const connection = await Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: '1s' });
      try {
        await connection.operatorService.listSearchAttributes({ namespace: 'default' });
        // Another program at this port may have answered.
        return !hasEnded(child);
      } finally {
        await connection.close();
      }
    } catch {
      if (hasEnded(child)) return false;
      await sleep(100);
    }
  }
}
