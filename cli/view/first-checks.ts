import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isTroubleOfServer } from '../temporal-errors';
import { explainRun } from './explain';
import { readRunState, type RunState } from './run-state';

const POLL_MS = 250;
/** Checking a large model's files takes minutes, which is too long to wait for. */
const PATIENCE_MS = 15_000;

/** The results of a run's first checks: agent.yaml, environment, model, analyst and jail. */
export interface FirstChecks {
  /** Whether the run has passed them. */
  passed: boolean;
  /** Sentences that say why it does not continue; empty if it does, or if the checks still run. */
  trouble: string[];
}

/** Watches a run that has just begun until its first checks have ended, one of them fails, or 15 s have passed. */
export async function watchFirstChecks(
  client: Client,
  runId: string,
  localTrouble: () => Promise<string[]>,
): Promise<FirstChecks> {
  for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await sleep(POLL_MS)) {
    let state: RunState;
    try {
      state = await readRunState(client, runId);
    } catch (error) {
      // The run has begun, so a later failure of the server is not the run's failure.
      if (!isTroubleOfServer(error)) throw error;
      break;
    }
    if (isStuck(state)) return { passed: false, trouble: explainRun(state, await localTrouble()) };
    if (state.status !== 'running' || isPast(state)) return { passed: true, trouble: [] };
  }
  return { passed: false, trouble: [] };
}

/** Whether the run has failed, waits for a person, repeats a failed check, or has no worker. */
function isStuck({ status, result, progress, activities, steps, pollers }: RunState): boolean {
  if (status !== 'running') return result === null;
  const waits = (progress?.waitingFor ?? null) !== null;
  const fails = activities.some(({ lastFailure }) => lastFailure !== null);
  const isAlone = progress === null && steps.some(({ taskQueue }) => (pollers[taskQueue] ?? null) === null);
  return waits || fails || isAlone;
}

/** Whether a stage has begun, since the first stage begins after the checks. */
const isPast = ({ progress }: RunState): boolean =>
  progress?.stages.some(({ status }) => status !== 'waiting') ?? false;
