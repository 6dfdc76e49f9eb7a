import { HEARTBEAT_MS } from '../../contracts/limits';
import { STAGES } from '../../contracts/names';
import type { RunProgress } from '../../contracts/messages/run';
import type { StageProgress } from '../../contracts/messages/run-context';
import { remedyFor } from '../errors';
import { activityView } from './activities';
import { adviceFor } from './failure-advice';
import { duration } from '../output';
import { LONG_POLL_MS } from '../pollers';
import type { PendingActivity, RunState } from './run-state';
import type { QueueWorker } from './task-queue-workers';
import { failingText, sinceText, untilText, WAITS_FOR } from './waits';

/** After this time without a poll, a worker counts as gone: its next poll is late. */
const POLLER_SILENT_MS = LONG_POLL_MS + 10_000;
/** After this time without a heartbeat, an activity is reported: several heartbeats are missing. */
const HEARTBEAT_SILENT_MS = 8 * HEARTBEAT_MS.every;

/** The queue's short name, as in `whet worker --queues`. */
const shortQueue = (queue: string) => queue.replace(/^whet-/, '');

/** Progress in readable form: `412 of 1400 labels, 23/s, 43 s left`. */
export function progressText(progress: StageProgress): string {
  // Nothing is counted yet.
  if (progress.total === 0 && progress.note !== undefined) return progress.note;
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

function failureText({ activityType, lastFailure }: PendingActivity): string {
  if (lastFailure === null) return '';
  const advice = adviceFor(activityType, lastFailure.type);
  return `${lastFailure.type ?? 'Error'}: ${lastFailure.message}${advice === null ? '' : ` What to do: ${advice}`}`;
}

/** Why no worker has taken an activity yet, and what to do, as the end of a sentence. */
function whyNotTaken({ taskQueue }: PendingActivity, state: RunState): string {
  const start = `start one with \`whet up\`, or \`whet worker --queues ${shortQueue(taskQueue)}\``;
  const known = state.workers?.filter((worker) => worker.taskQueue === taskQueue) ?? [];
  if (known.length === 0) {
    const poll = state.pollers[taskQueue] ?? null;
    if (poll === null || state.now - poll > POLLER_SILENT_MS)
      return `no worker asks for work on ${taskQueue}: ${start}`;
    return 'a worker asks for work there, so it should begin soon';
  }
  const alive = known.filter((worker) => !worker.silent && !worker.shuttingDown);
  if (alive.length === 0) return `${stoppedWorkers(known, state.now)}, or ${start}`;
  const used = alive.reduce((sum, worker) => sum + worker.used, 0);
  if (alive.some((worker) => worker.free > 0)) return 'a worker there has room for it, so it should begin soon';
  const count = alive.length === 1 ? 'the worker is' : `the ${alive.length} workers are`;
  return `${count} busy with ${used} other tasks of that kind, and takes it when one ends. More at once: ${start}`;
}

/** A sentence about workers that are stopped or gone: since when, and what to do. */
function stoppedWorkers(workers: readonly QueueWorker[], now: number): string {
  const last = workers.reduce((a, b) => (b.heartbeatAt > a.heartbeatAt ? b : a));
  if (last.shuttingDown) return `the worker ${last.identity} is shutting down: wait until it is back`;
  return (
    `the worker ${last.identity} has given no sign of life for ${ago(last.heartbeatAt, now)}: its process or its ` +
    `machine is stopped or gone. Let it go on (\`kill -CONT ${last.identity.replace(/@.*/, '')}\` where it was stopped)`
  );
}

/** A sentence if the worker of a running activity shows no sign of life; else empty. */
function signsOfLife({ heartbeatAt, workerIdentity, taskQueue }: PendingActivity, { workers, now }: RunState): string {
  const worker = workers?.find((one) => one.identity === workerIdentity && one.taskQueue === taskQueue);
  if (worker?.silent === true) return ` But ${stoppedWorkers([worker], now)}; Temporal then starts it again elsewhere.`;
  if (heartbeatAt === null || now - heartbeatAt <= HEARTBEAT_SILENT_MS) return '';
  return ` No sign of life for ${ago(heartbeatAt, now)}: if its worker died, Temporal starts it again soon.`;
}

/** Describes one activity: its work, its progress, and why it waits. */
export function explainActivity(activity: PendingActivity, state: RunState): string {
  const { now } = state;
  const where =
    activity.workflowId === state.runId
      ? ''
      : ` [${activity.workflowId.slice(state.runId.length).replace(/^[/:.-]+/, '') || activity.workflowId}]`;
  const head = `${activityView(activity.activityType).title}${where}`;
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
      const since = activity.scheduledAt === null ? '' : ` for ${ago(activity.scheduledAt, now)}`;
      return `${head}: has waited${since} for a worker on ${activity.taskQueue}; ${whyNotTaken(activity, state)}.`;
    }
    case 'started': {
      const progress = activity.progress === null ? '' : ` ${progressText(activity.progress)}.`;
      const heartbeat = signsOfLife(activity, state);
      const before =
        activity.attempt > 1
          ? ` This is attempt ${activity.attempt}${of}; ` +
            `the one before ended with ${failureText(activity) || 'no reason given'}`
          : '';
      return `${head}:${progress || ' running.'}${heartbeat}${before}`;
    }
  }
}

/** Why the next step of a workflow was not made yet; empty if only moments have passed. */
function explainStep({ workflowId, taskQueue, attempt }: RunState['steps'][number], state: RunState): string[] {
  if (attempt > 1)
    return [
      `The workflow code of ${workflowId} failed ${attempt - 1} times on its next step: ` +
        "read the worker's log in the state directory (logs/worker.log).",
    ];
  const known = state.workers?.filter((worker) => worker.taskQueue === taskQueue) ?? [];
  if (known.length > 0 && known.every((worker) => worker.silent || worker.shuttingDown))
    return [`Nothing goes on: ${stoppedWorkers(known, state.now)}, or start another one with \`whet up\`.`];
  const poll = state.pollers[taskQueue] ?? null;
  if (known.length > 0 || (poll !== null && state.now - poll <= POLLER_SILENT_MS)) return [];
  return [
    `No worker asks for work on ${taskQueue}, so nothing goes on: start one with \`whet up\`, or \`whet worker\`.`,
  ];
}

/**
 * Says in sentences what a run does and why it waits, the most important first. `localTrouble` has the problems of the
 * services on this machine, if the run uses them.
 */
export function explainRun(state: RunState, localTrouble: readonly string[] = []): string[] {
  if (state.status !== 'running') return explainEnd(state);
  const sentences = [...localTrouble];
  const { progress } = state;
  const current = progress?.stages.find((s) => s.status === 'running' || s.status === 'paused');
  if (progress !== null && progress.waits.length > 0) sentences.push(...waitSentences(progress, state.now));
  else if (current)
    sentences.push(
      `It is in stage ${STAGES.indexOf(current.name) + 1} of ${STAGES.length}, ` +
        `${current.name}${current.detail ? `: ${current.detail}` : ''}.`,
    );
  else if (progress === null && state.steps.length === 0)
    sentences.push('No worker answered when asked how far the run is.');
  sentences.push(...state.steps.flatMap((step) => explainStep(step, state)));
  sentences.push(...explainActivities(state));
  if (sentences.length === 0) sentences.push('It is between two steps; ask again in a moment.');
  return sentences;
}

/** The obstacles to the end of a run that was asked to stop. Its own waits no longer matter. */
export function explainStopping(state: RunState): string[] {
  const sentences = [...state.steps.flatMap((step) => explainStep(step, state)), ...explainActivities(state)];
  return sentences.length > 0 ? sentences : ['Nothing of it is under way; a worker ends it.'];
}

/** A sentence for each activity that a run has requested. */
const explainActivities = (state: RunState): string[] =>
  state.activities.map((activity) => explainActivity(activity, state));

/**
 * The waits for a person, with the time of their start. It also has the failures, which are otherwise shown in their
 * stage's line.
 */
function waitSentences({ waits, failing }: RunProgress, now: number): string[] {
  return [
    ...waits.map(
      ({ key, reason, sinceMs, untilMs, who }) =>
        `It waits ${WAITS_FOR[who]}, ${sinceText(sinceMs, now)}${untilText(untilMs, now)}. ${key}: ${reason}`,
    ),
    ...failing.map((one) => `Trouble ${sinceText(one.sinceMs, now)}. ${one.key}: ${failingText(one)}`),
  ];
}

function explainEnd(state: RunState): string[] {
  const took = state.closedAt === null ? '' : ` after ${duration((state.closedAt - state.startedAt) / 1000)}`;
  if (state.result !== null) {
    const { verdict, reasons, summary, reportDirectory } = state.result;
    return [
      `It ended${took}: ${verdict}.${summary ? ` ${summary}` : ''}`,
      ...reasons,
      ...(reportDirectory === null ? [] : [`Report: ${reportDirectory}/report.html`]),
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
