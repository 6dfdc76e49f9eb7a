import { Context } from '@temporalio/activity';
import { MESSAGES } from '../../contracts/names';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import type { Reason } from '../../k8s/training-snapshot';

/** Of a reason in the stage table. */
const LENGTH = 300;

/**
 * Puts a training's reason into its run's stage table, which the Temporal UI shows. Called when the kind changes, so
 * their number is bounded by what happens; a run that is gone, or a server that is busy, needs no note: the heartbeat
 * says the same.
 */
export async function signalStatus({ context, job }: TrainInput, { kind, message }: Reason): Promise<void> {
  const text = kind === 'Training' ? 'training' : `training: ${kind}, ${message}`.slice(0, LENGTH);
  try {
    await Context.current()
      .client.workflow.getHandle(context.runId)
      .signal(MESSAGES.statusSignal, { key: job, text, waitingFor: null });
  } catch {
    // Outside of a worker there is no client.
  }
}
