import { HEARTBEAT_MS } from '../../contracts/limits';
import { STAGES } from '../../contracts/names';
import type { StageProgress } from '../../contracts/messages/run-context';
import { remedyFor } from '../errors';
import { duration } from '../output';
import { LONG_POLL_MS } from '../pollers';
import type { PendingActivity, RunState } from './run-state';

/** Silence after which a worker counts as gone: its next poll is late. */
const POLLER_SILENT_MS = LONG_POLL_MS + 10_000;
/** Silence of an activity that is worth a word: several heartbeats are missing. */
const HEARTBEAT_SILENT_MS = 8 * HEARTBEAT_MS.every;

/** What each activity does, as the end of a sentence that begins with "the run is". */
const DOING: Record<string, string> = {
  prepareRun: 'checking agent.yaml, the model, the analyst and the jail',
  collectTrajectories: 'rolling out the base agent on the train tasks',
  discoverCandidates: 'asking the analyst which capabilities the failures lack',
  planLabels: 'planning the labels',
  labelChunk: 'asking the analyst for labels',
  contrastCapabilities: 'contrasting successes with failures',
  synthesiseEnvironment: 'asking the analyst for a training environment',
  validateEnvironment: 'validating an environment in the jail',
  calibrateEnvironment: 'calibrating an environment with the base model',
  trainAdapter: 'training an adapter',
  routeTasks: 'routing the held-out tasks',
  rollOutArm: 'rolling out on the held-out tasks',
  compareArms: 'comparing the arms',
  promoteAdapters: 'promoting the adapters',
  renderReport: 'writing the report',
};

/** The queue's short name, as `whet worker --queues` takes it. */
const shortQueue = (queue: string) => queue.replace(/^whet-/, '');

/** Progress as people read it: `412 of 1400 labels, 23/s, 43 s left`. */
export function progressText(progress: StageProgress): string {
  const rate =
    progress.ratePerSecond > 0
      ? `, ${progress.ratePerSecond >= 10 ? progress.ratePerSecond.toFixed(0) : progress.ratePerSecond.toFixed(1)}/s`
      : '';
  const left =
    progress.secondsLeft === null || progress.done >= progress.total ? '' : `, ${duration(progress.secondsLeft)} left`;
  const note = progress.note === undefined ? '' : ` (${progress.note})`;
  return `${progress.done} of ${progress.total} ${progress.unit}${rate}${left}${note}`;
}

const ago = (then: number, now: number) => duration(Math.max(0, now - then) / 1000);

function failureText({ lastFailure }: PendingActivity): string {
  if (lastFailure === null) return '';
  const remedy = remedyFor(lastFailure.type);
  return `${lastFailure.type ?? 'Error'}: ${lastFailure.message}${remedy === null ? '' : ` What to do: ${remedy}`}`;
}

/** Says of one activity what it does, how far it is, and what it waits for. */
function explainActivity(activity: PendingActivity, state: RunState): string {
  const { now } = state;
  const doing = DOING[activity.activityType] ?? activity.activityType;
  const where =
    activity.workflowId === state.runId
      ? ''
      : ` [${activity.workflowId.slice(state.runId.length).replace(/^[/:.-]+/, '') || activity.workflowId}]`;
  const head = `${doing[0]?.toUpperCase() ?? ''}${doing.slice(1)}${where}`;
  const of = activity.maximumAttempts === null ? '' : ` of ${activity.maximumAttempts}`;
  switch (activity.status) {
    case 'paused':
      return `${head}: paused by an operator in Temporal; unpause it there to go on.`;
    case 'cancelling':
      return `${head}: was asked to stop and is doing so.`;
    case 'backing-off':
      return (
        `${head}: attempt ${activity.attempt - 1}${of} failed; the next starts in ` +
        `${duration(((activity.nextAttemptAt ?? now) - now) / 1000)}. ${failureText(activity)}`
      ).trim();
    case 'scheduled': {
      const poll = state.pollers[activity.taskQueue] ?? null;
      const since = activity.scheduledAt === null ? '' : ` for ${ago(activity.scheduledAt, now)}`;
      const nobody = poll === null || now - poll > POLLER_SILENT_MS;
      const why = nobody
        ? `no worker asks for work on ${activity.taskQueue}: start one with \`whet up\`, ` +
          `or \`whet worker --queues ${shortQueue(activity.taskQueue)}\``
        : 'the worker is busy with other work of that kind';
      return `${head}: has waited${since} for a worker on ${activity.taskQueue}; ${why}.`;
    }
    case 'started': {
      const progress = activity.progress === null ? '' : ` ${progressText(activity.progress)}.`;
      const silent = activity.heartbeatAt !== null && now - activity.heartbeatAt > HEARTBEAT_SILENT_MS;
      const heartbeat =
        silent && activity.heartbeatAt !== null
          ? ` No sign of life for ${ago(activity.heartbeatAt, now)}: if its worker died, Temporal starts it again soon.`
          : '';
      const before =
        activity.attempt > 1
          ? ` This is attempt ${activity.attempt}${of}; ` +
            `the one before ended with ${failureText(activity) || 'no reason given'}`
          : '';
      return `${head}:${progress || ' running.'}${heartbeat}${before}`;
    }
  }
}

/** Says in sentences what a run does and what it waits for, the most important first. */
export function explainRun(state: RunState): string[] {
  if (state.status !== 'running') return explainEnd(state);
  const sentences: string[] = [];
  const { progress } = state;
  const current = progress?.stages.find((s) => s.status === 'running' || s.status === 'paused');
  if (progress?.waitingFor)
    sentences.push(...progress.waitingFor.split('\n').map((reason) => `It waits for a person. ${reason}`));
  else if (current)
    sentences.push(
      `It is in stage ${STAGES.indexOf(current.name) + 1} of ${STAGES.length}, ` +
        `${current.name}${current.detail ? `: ${current.detail}` : ''}.`,
    );
  else if (progress === null && state.steps.length === 0)
    sentences.push('No worker answered when asked how far the run is.');
  for (const step of state.steps) {
    const poll = state.pollers[step.taskQueue] ?? null;
    if (step.attempt > 1)
      sentences.push(
        `The workflow code of ${step.workflowId} failed ${step.attempt - 1} times on its next step: ` +
          "read the worker's log in the state directory.",
      );
    else if (poll === null || state.now - poll > POLLER_SILENT_MS)
      sentences.push(
        `No worker asks for work on ${step.taskQueue}, so nothing goes on: ` +
          'start one with `whet up`, or `whet worker`.',
      );
  }
  sentences.push(...state.activities.map((activity) => explainActivity(activity, state)));
  if (sentences.length === 0) sentences.push('It is between two steps; ask again in a moment.');
  return sentences;
}

function explainEnd(state: RunState): string[] {
  const took = state.closedAt === null ? '' : ` after ${duration((state.closedAt - state.startedAt) / 1000)}`;
  if (state.result !== null) {
    const { verdict, reasons, summary, reportDirectory } = state.result;
    return [
      `It ended${took}: ${verdict}.${summary ? ` ${summary}` : ''}`,
      ...reasons,
      `Report: ${reportDirectory}/report.html`,
    ];
  }
  const failure = state.failure;
  const remedy = remedyFor(failure?.type ?? null);
  return [
    `It ${state.status === 'failed' ? 'failed' : `was ${state.status}`}${took}.`,
    ...(failure === null ? [] : [`${failure.type ?? 'Error'}: ${failure.message}`]),
    ...(remedy === null ? [] : [`What to do: ${remedy}`]),
  ];
}
