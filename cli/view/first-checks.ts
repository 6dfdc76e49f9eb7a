import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isTroubleOfServer } from '../temporal-errors';
import { explainRun } from './explain';
import { readRunState, type RunState } from './run-state';

const POLL_MS = 250;
/** The checks of a large model's files take minutes; nobody wants to wait for those. */
const PATIENCE_MS = 15_000;

/** The outcome of a run's first checks: agent.yaml, environment, model, analyst and jail. */
export interface FirstChecks {
  /** Whether the run has got past them. */
  passed: boolean;
  /** Sentences that say why it does not continue; empty where it does, or where the checks still run. */
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
      // The run has begun, so a later failure of the server is not the run's.
      if (!isTroubleOfServer(error)) throw error;
      break;
    }
    if (isStuck(state)) return { passed: false, trouble: explainRun(state, await localTrouble()) };
    if (state.status !== 'running' || isPast(state)) return { passed: true, trouble: [] };
  }
  return { passed: false, trouble: [] };
}

/** Whether it has failed, waits for a person, or repeats a check that failed, or nobody works on it. */
function isStuck({ status, result, progress, activities, steps, pollers }: RunState): boolean {
  if (status !== 'running') return result === null;
  const waits = (progress?.waitingFor ?? null) !== null;
  const fails = activities.some(({ lastFailure }) => lastFailure !== null);
  const isAlone = progress === null && steps.some(({ taskQueue }) => (pollers[taskQueue] ?? null) === null);
  return waits || fails || isAlone;
}

/** Whether a stage has begun: the first one begins after the checks. */
const isPast = ({ progress }: RunState): boolean =>
  progress?.stages.some(({ status }) => status !== 'waiting') ?? false;
