import { Context } from '@temporalio/activity';
import { MESSAGES } from '../../contracts/names';
import { startOf } from '../../contracts/clean-text';
import type { Reason } from '../../k8s/training-snapshot';
import type { Training } from './backend';

/** Most characters of a status in the run's progress table. */
const MAX_LENGTH = 300;

/**
 * Signals a training's reason to its run, whose progress table the Temporal UI shows. Callers signal only a new kind of
 * reason, because every signal lengthens the run's history. A signal that fails is dropped: the heartbeat says the
 * same.
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
