import { MESSAGES } from '../../contracts/names';
import type { Context } from '../context';
import { CliError } from '../errors';
import { withTemporal } from '../temporal';
import { readRunState, type RunState } from '../view/run-state';

/** `whet approve RUN`: lets a run that waits for approval promote its adapters. */
export async function approveCommand({ settings, out }: Context, runId: string): Promise<void> {
  await withTemporal(settings, async ({ client }) => {
    await requireRunning(() => readRunState(client, runId));
    await client.workflow.getHandle(runId).executeUpdate(MESSAGES.approveUpdate);
    out.result({ runId, approved: true }, `${runId}: approved`);
  });
}

/** `whet retry RUN [CAPABILITY]` and `whet skip RUN CAPABILITY`: tell a waiting run how to go on. */
export async function answerCommand(
  { settings, out }: Context,
  answer: 'retry' | 'skip',
  runId: string,
  capabilityId: string | undefined,
): Promise<void> {
  await withTemporal(settings, async ({ client }) => {
    const state = await requireRunning(() => readRunState(client, runId));
    if (state.progress !== null && state.progress.waitingFor === null) {
      throw new CliError(
        `${runId} does not wait for a person, so there is nothing to ${answer}. ` +
          `\`whet why ${runId}\` says what it does.`,
        {
          type: 'Run.NotWaiting',
        },
      );
    }
    const signal = answer === 'retry' ? MESSAGES.retrySignal : MESSAGES.skipSignal;
    await client.workflow.getHandle(runId).signal(signal, capabilityId === undefined ? {} : { capabilityId });
    out.result(
      { runId, answer, capabilityId: capabilityId ?? null },
      `${runId}: told to ${answer}${capabilityId === undefined ? '' : ` ${capabilityId}`}`,
    );
  });
}

async function requireRunning(read: () => Promise<RunState>): Promise<RunState> {
  const state = await read();
  if (state.status === 'running') return state;
  throw new CliError(`${state.runId} has ended (${state.result?.verdict ?? state.status}), so it waits for nothing.`, {
    type: 'Run.Ended',
  });
}
