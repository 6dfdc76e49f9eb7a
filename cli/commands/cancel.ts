import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context';
import { CliError } from '../errors';
import { withInterrupt } from '../foreground';
import { type Temporal, withTemporal } from '../temporal';
import { isTroubleOfServer, promptly } from '../temporal-errors';
import { explainStopping } from '../view/explain';
import { endOf, readRunState, type RunState } from '../view/run-state';

const POLL_MS = 500;
/** Without a terminal, this is the time between lines about work that still runs. */
const SAY_EVERY_MS = 10_000;

/** Flags of `whet cancel`. */
export interface CancelFlags {
  /** false: `--no-wait`. */
  wait: boolean;
}

/**
 * `whet cancel RUN [--no-wait]`: stops a run for good, and waits until its trainers have stopped. The run's artifacts
 * stay in the store. A repeated call changes nothing.
 */
export async function cancelCommand({ settings, out }: Context, runId: string, { wait }: CancelFlags): Promise<void> {
  await withTemporal(settings, async (temporal) => {
    const before = await readRunState(temporal.client, runId);
    if (before.status !== 'running') return out.result(...ended(before, false));
    await promptly(temporal.client, () => temporal.client.workflow.getHandle(runId).cancel());
    if (!wait) {
      const text = `${runId}: asked to stop; \`whet status ${runId}\` says when it has stopped.`;
      return out.result({ runId, status: 'cancelling', asked: true }, text);
    }
    const after = await withInterrupt((signal) => untilEnded(temporal, runId, (line) => out.line(line), signal));
    out.result(...ended(after, true));
  });
}

/** The result for a run that has ended, with its text. */
function ended(state: RunState, asked: boolean): [unknown, string] {
  const how = endOf(state);
  const text = asked
    ? `${state.runId}: ${how}`
    : `${state.runId} has ended already (${how}); there is nothing to stop.`;
  return [{ runId: state.runId, status: how, asked }, text];
}

/** Waits until a run has ended, and reports from time to time what delays it. @throws CliError after Ctrl-C. */
async function untilEnded(
  { client }: Temporal,
  runId: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<RunState> {
  let saidAt: number | null = null;
  for (;;) {
    const state = await readRunState(client, runId).catch((error: unknown) => {
      if (isTroubleOfServer(error)) return null;
      throw error;
    });
    if (state !== null && state.status !== 'running') return state;
    if (signal.aborted)
      throw new CliError(`${runId} is stopping; \`whet status ${runId}\` says when it has stopped.`, {
        type: 'Run.StillStopping',
      });
    if (saidAt === null || performance.now() - saidAt >= SAY_EVERY_MS) {
      const why = state === null ? ['The Temporal server gives no answer.'] : explainStopping(state);
      say(`${runId} is stopping. ${why.join(' ')}`);
      saidAt = performance.now();
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}
