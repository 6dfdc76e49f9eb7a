import { resolve } from 'node:path';
import {
  ApplicationFailure,
  type Client,
  WorkflowUpdateFailedError,
  type WorkflowUpdateHandle,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  WorkflowUpdateStage,
} from '@temporalio/client';
import { ActivityFailure } from '@temporalio/common';
import { COMMAND_FAILURES, type CommandFailureType } from '../../contracts/failures/command-line';
import type { AnswerInput, AnswerResult } from '../../contracts/messages/run';
import { MESSAGES } from '../../contracts/names';
import type { Context } from '../context';
import { CliError } from '../errors';
import { withTemporal } from '../temporal';
import { readRunState, requireRunning } from '../view/run-state';

/** With a worker, a run processes an answer in well under a second. */
const WORKER_PATIENCE_MS = 20_000;
/** With an agent.yaml, an activity must read it, and may ask the analyst's endpoint for its models. */
const RESULT_PATIENCE_MS = 120_000;

const waitForStage = WorkflowUpdateStage.ACCEPTED;

/** `whet approve RUN`: approves the promotion of a run that asks for it. */
export async function approveCommand({ settings, out }: Context, runId: string): Promise<void> {
  await withTemporal(settings, async ({ client }) => {
    requireRunning(await readRunState(client, runId), 'so it waits for nothing');
    const handle = client.workflow.getHandle(runId);
    await tellRun(client, runId, () => handle.startUpdate(MESSAGES.approveUpdate, { waitForStage }));
    out.result({ runId, approved: true }, `${runId}: approved`);
  });
}

/**
 * `whet retry RUN [WAITING] [--spec AGENT_YAML]` and `whet skip RUN WAITING`: answer a wait of a run. Without a name,
 * everything that waits is tried again. @throws CliError with exit code 2 if no wait matches the answer.
 */
export async function answerCommand(
  { settings, out }: Context,
  answer: 'retry' | 'skip',
  runId: string,
  key: string | undefined,
  { spec }: { spec?: string } = {},
): Promise<void> {
  await withTemporal(settings, async ({ client }) => {
    requireRunning(await readRunState(client, runId), 'so it waits for nothing');
    const input: AnswerInput = {
      answer,
      ...(key !== undefined && { key }),
      ...(spec !== undefined && { specPath: resolve(spec) }),
    };
    const handle = client.workflow.getHandle(runId);
    const { answered, changed } = await tellRun(client, runId, () =>
      handle.startUpdate<AnswerResult, [AnswerInput]>(MESSAGES.answerUpdate, { waitForStage, args: [input] }),
    );
    const done = answer === 'retry' ? 'tries again' : 'leaves out';
    const lines = [
      ...(changed.length > 0 ? [`${runId}: takes over ${changed.join(', ')} of ${spec}`] : []),
      answered.length === 0
        ? `${runId}: nothing waits any more, somebody else answered`
        : `${runId}: ${done} ${answered.join(', ')}`,
    ];
    out.result({ runId, answer, answered, changed }, lines.join('\n'));
  });
}

/**
 * Sends an update to a run and returns its result.
 * @throws CliError with the run's reason if it refuses, or if no worker handles the update.
 */
async function tellRun<T>(client: Client, runId: string, start: () => Promise<WorkflowUpdateHandle<T>>): Promise<T> {
  try {
    const update = await client.withDeadline(Date.now() + WORKER_PATIENCE_MS, start);
    return await client.withDeadline(Date.now() + RESULT_PATIENCE_MS, () => update.result());
  } catch (error) {
    throw toCliError(error, runId);
  }
}

function toCliError(error: unknown, runId: string): unknown {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)
    return new CliError(
      `No worker took the answer for ${runId}. Start one with \`whet up\`, or \`whet worker\`, then repeat it.`,
      { type: 'Run.NoWorker', cause: error },
    );
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const { cause } = error;
  const reason = cause instanceof ActivityFailure ? cause.cause : cause;
  if (!(reason instanceof ApplicationFailure)) return new CliError(error.message, { cause: error });
  const isOurs = (type: string): type is CommandFailureType => Object.hasOwn(COMMAND_FAILURES, type);
  // A refused agent.yaml also counts as wrong input, although its failure has a run's type.
  const type = reason.type ?? 'Cli.Failed';
  return isOurs(type)
    ? new CliError(reason.message, { type, cause: error })
    : new CliError(reason.message, {
        reportedType: type,
        exitCode: type === 'Spec.Invalid' ? 2 : 1,
        cause: error,
      });
}
