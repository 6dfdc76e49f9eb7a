import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { RepairInput, RepairOutcome, RepairStep } from '../../contracts/messages/repair';
import { repairWorkflowId, TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import { startOf } from '../../contracts/clean-text';
import { CliError } from '../errors';
import type { Output } from '../output';
import { reportedFailure } from '../view/run-state';

/** Largest number of characters of steps in one workflow: the server accepts 2 MB, and warns from half of that. */
const MOST_CHARACTERS = 500_000;

/**
 * Executes the steps on the workers, in order, and returns the outcome of each. On a terminal it shows the current
 * step.
 * @throws CliError if another repair of the run is in progress.
 */
export async function executeSteps(
  client: Client,
  out: Output,
  runId: string,
  agent: string | null,
  steps: readonly RepairStep[],
): Promise<RepairOutcome[]> {
  const outcomes: RepairOutcome[] = [];
  for (const part of partsOf(steps)) {
    const input: RepairInput = { runId, steps: part };
    const handle = await client.workflow
      .start(WORKFLOWS.repairArtifacts, {
        taskQueue: TASK_QUEUES.orchestration,
        workflowId: repairWorkflowId(runId),
        args: [input],
        staticSummary: `repair of ${runId}: ${part.length} steps`,
        ...(agent !== null && { memo: { agent }, priority: { fairnessKey: agent } }),
      })
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        throw new CliError(
          `Another repair of ${runId} is under way (workflow ${repairWorkflowId(runId)}). It goes on without its ` +
            'command too: wait for it, then look again with `whet repair ' +
            `${runId}\`, or cancel the workflow.`,
          { type: 'Repair.UnderWay', cause: error },
        );
      });
    const ended = new AbortController();
    const shown = showProgress(() => handle.describe(), out, ended.signal);
    try {
      outcomes.push(...((await handle.result()) as RepairOutcome[]));
    } finally {
      ended.abort();
      await shown;
    }
  }
  return outcomes;
}

function partsOf(steps: readonly RepairStep[]): RepairStep[][] {
  const parts: RepairStep[][] = [];
  let characters = Infinity;
  for (const step of steps) {
    const own = JSON.stringify(step).length;
    if (characters + own > MOST_CHARACTERS) {
      parts.push([]);
      characters = 0;
    }
    parts.at(-1)?.push(step);
    characters += own;
  }
  return parts;
}

type Description = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['describe']>>;

/** Draws the current step until the signal fires. Never throws, because a repair does not depend on it. */
async function showProgress(describe: () => Promise<Description>, out: Output, signal: AbortSignal): Promise<void> {
  while (out.live && !signal.aborted) {
    const description = await describe().catch(() => null);
    const activity = description?.raw.pendingActivities?.[0];
    if (activity && !signal.aborted) {
      const failed = reportedFailure(activity.lastFailure);
      const trouble = failed === null ? '' : ` (attempt ${activity.attempt}; before: ${startOf(failed.message, 200)})`;
      out.redraw([`again: ${activity.activityType?.name ?? '?'}${trouble}`]);
    } else if (description?.raw.pendingWorkflowTask && !signal.aborted) {
      out.redraw(['waiting for a worker; `whet status` shows whether one runs']);
    }
    await sleep(500, undefined, { signal }).catch(() => undefined);
  }
  out.redraw([]);
}
