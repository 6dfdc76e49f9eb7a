import { ActivityFailure, proxyActivities, rootCause, setCurrentDetails, TimeoutFailure } from '@temporalio/workflow';
import type { RepairInput, RepairOutcome, RepairStep } from '../../contracts/messages/repair';
import { activityOptions } from '../shared/activities';
import { applicationFailureOf } from '../shared/failure-causes';

/**
 * Most attempts of one step. A person waits for the outcome. So the step reports a service that is down, and does not
 * wait for it.
 */
const ATTEMPTS = 5;

/**
 * Executes completed activities of a run again, one after the other: a later one may need the artifacts of an earlier
 * one. A step that fails does not end the others. The caller compares the new results with the original ones.
 */
export async function repairArtifacts({ steps }: RepairInput): Promise<RepairOutcome[]> {
  const outcomes: RepairOutcome[] = [];
  for (const step of steps) {
    setCurrentDetails(`${outcomes.length} of ${steps.length} done; now: ${step.summary}`);
    outcomes.push(await repeat(step));
  }
  return outcomes;
}

async function repeat({ activity, queue, input, repetition, summary }: RepairStep): Promise<RepairOutcome> {
  const options = activityOptions[queue];
  const activities = proxyActivities<Record<string, (...args: unknown[]) => Promise<unknown>>>({
    ...options,
    retry: { ...options.retry, maximumAttempts: ATTEMPTS },
    summary,
  });
  try {
    return { result: await activities[activity]?.(input, repetition) };
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const failure = applicationFailureOf(error);
    if (failure === null && !(error.cause instanceof TimeoutFailure)) throw error;
    return { failure: { type: failure?.type || null, message: failure?.message ?? rootCause(error) ?? error.message } };
  }
}
