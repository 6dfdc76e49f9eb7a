import {
  CancellationScope,
  getExternalWorkflowHandle,
  log,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { ImprovementRunResult } from '../../contracts/messages/run';
import { MIXED, type RunOutcome, TRIAL } from '../../contracts/names';
import { activityOptions, orchestration } from '../shared/activities';
import { giveWaySignal } from '../shared/messages';
import type { Run } from './run';
import { answerOne } from './run-answers';
import type { RunProgressTable } from './run-progress-table';
import { type Overdue, overdueSentence, watchWaits } from './wait-deadlines';

/** Limits how long a run tries to record how it ended: a failing store may be the reason why it ended. */
const { recordEnd } = proxyActivities<Pick<OrchestrationActivities, 'recordEnd'>>({
  ...activityOptions.orchestration,
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
});

/** Ends waits at their deadlines, and the run when the next night takes its place, until the function is called. */
export function endWaitsInTime(run: Run): () => void {
  const { table, early, input } = run;
  setHandler(giveWaySignal, ({ to }) => {
    // Somebody may have answered meanwhile.
    if (input.scheduled !== true || !table.waiting.some(({ who }) => who !== 'approval')) return;
    endNow(run, `It waited for an answer when the next night was due, and ${to} took its place. ${waitsText(table)}`);
  });
  return watchWaits({
    deadlines: () => table.deadlines,
    waits: () => (early.reason === null ? table.waiting : []),
    failing: () => (early.reason === null ? table.repeatedFailures : []),
    end: (overdue) => endWait(run, overdue),
  });
}

const waitsText = ({ waiting }: RunProgressTable) => waiting.map(({ key, reason }) => `${key}: ${reason}`).join(' ');

/** Leaves the waiting part out if the run can do without it; otherwise ends the run. */
async function endWait(run: Run, overdue: Overdue): Promise<void> {
  const { table, early } = run;
  const sentence = overdueSentence(overdue, table.deadlines);
  const { wait } = overdue;
  if (wait?.who === 'approval') {
    early.approval = sentence;
  } else if (wait !== null && isDispensable(table, wait.key)) {
    early.leftOut.set(wait.key, sentence);
    await answerOne(run, 'skip', wait.key);
  } else endNow(run, sentence);
}

/**
 * Two waits always end the run: without the active version the gate would compare less, and without the trial the run
 * might pay in vain.
 */
const isDispensable = ({ current }: RunProgressTable, key: string): boolean =>
  key !== TRIAL && (key === MIXED || current === 'sharpen' || (current === 'promote' && key === 'promote'));

function endNow({ early, stages }: Run, reason: string): void {
  early.reason = reason;
  stages.cancel();
}

/**
 * The first step of a scheduled run. It decides whether the run may start, and ends earlier scheduled runs that only
 * wait. Returns the result of a run that is skipped; null when it begins.
 */
export async function takeTurn({ input, table, notices, early }: Run): Promise<ImprovementRunResult | null> {
  const { runId, agent, specPath } = input;
  const turn = await orchestration.takeTurn.executeWithOptions({ summary: 'is the night before over?' }, [
    { runId, agent, specPath },
  ]);
  table.deadlines = turn.deadlines;
  notices.open(turn.notify ? { spec: null, specPath } : null);
  const handles = turn.takesOver.map((earlier) => getExternalWorkflowHandle(earlier));
  // A run that has ended meanwhile needs no signal.
  await Promise.all(handles.map((handle) => handle.signal(giveWaySignal, { to: runId }).catch(() => undefined)));
  if (turn.begins) {
    if (turn.reason !== '') {
      early.beside = turn.reason;
      table.keepLine('night');
      table.update({ key: 'night', text: turn.reason, waitingFor: null });
    }
    return null;
  }
  return {
    runId,
    verdict: 'skipped',
    reasons: [turn.reason],
    summary: '',
    promotedVersion: null,
    reportDirectory: null,
  };
}

/** Sends the notice of a run's end, and records the end if there is no report. Never throws. */
export async function concludeRun(
  { input, table, notices }: Run,
  outcome: RunOutcome,
  reasons: string[],
  { promotedVersion = null, reported = false }: { promotedVersion?: number | null; reported?: boolean } = {},
): Promise<void> {
  table.end(outcome);
  await CancellationScope.nonCancellable(async () => {
    notices.send({ kind: 'ended', outcome, reasons, promotedVersion });
    await notices.begun();
    if (reported) return;
    const { runId, agent } = input;
    const startedAtMs = workflowInfo().startTime.getTime();
    const record = { runId, agent, outcome, reasons, startedAtMs, endedAtMs: Date.now() };
    await recordEnd(record).catch((error: unknown) => log.warn('the end was not written down', { error }));
  });
}
