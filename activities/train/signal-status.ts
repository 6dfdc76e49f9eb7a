import { Context } from '@temporalio/activity';
import { MESSAGES } from '../../contracts/names';
import { startOf } from '../../contracts/clean-text';
import type { Reason } from '../../k8s/training-snapshot';
import type { Training } from './backend';

/** Longest status in the run's progress table, in characters. */
const MAX_LENGTH = 300;

/**
 * Sends a training's reason to its run, whose progress table the Temporal UI shows. Callers send only a new kind of
 * reason, because every signal lengthens the run's history. A signal that fails is dropped, because the heartbeat says
 * the same.
 */
export async function signalStatus(
  { kind: purpose, input: { context, job } }: Pick<Training, 'kind' | 'input'>,
  { kind, message }: Reason,
): Promise<void> {
  const said = kind === 'Training' ? 'training' : `training: ${kind}, ${message}`;
  const text = startOf(purpose === 'trial' ? `${kind}, ${message}` : said, MAX_LENGTH);
  try {
    await Context.current()
      .client.workflow.getHandle(context.runId)
      .signal(MESSAGES.statusSignal, { key: job, text, waitingFor: null });
  } catch {
    // The run has ended, the server is busy, or a test has no client.
  }
}
