import type { V1Pod } from '@kubernetes/client-node';
import type { TrainingReasonKind } from '../contracts/artifacts/training';
import type { KubernetesSpec } from '../contracts/config/kubernetes-spec';
import type { FailureType } from '../contracts/failures/run';
import { EXIT_CODE_FAILURES, FATAL_EXIT_CODES, LOCKED_EXIT_CODE } from './exit-codes';
import { conditionOf, newestPod } from './objects';
import { exitCode } from './pod-termination';
import type { Reason, TrainingSnapshot } from './training-snapshot';

/** What has been put up with so far; kept in the training's directory, so that it outlives the worker. */
export interface RestartCounts {
  disruptions: number;
  stalls: number;
}

export type Action =
  | { act: 'wait' }
  /** Delete the Job and make it anew: it resumes from the last checkpoint without Kubernetes' back-off. */
  | { act: 'replace'; counts: keyof RestartCounts }
  /** Forget a pod whose node will not confirm its end. */
  | { act: 'forget-pod'; pod: string }
  | { act: 'fail'; type: FailureType; because: string };

/** What an ended trainer has written may reach this machine a moment later through a network file system. */
const FILE_LAG_MS = 30_000;
/** On top of the grace period: a node that lives has confirmed by then. */
const FORGET_AFTER_MS = 30_000;
const MINUTE_MS = 60_000;

/** Since when things are as they are, in milliseconds since 1970. */
export interface PhaseTimes {
  nowMs: number;
  /** The reason has been of this kind since. */
  reasonMs: number;
  /** The first iteration of this training was done; null: none yet. */
  firstIterationMs: number | null;
}

/**
 * What to do about a reason. Pure: each phase has its own clock, and the clock of training starts at the first
 * iteration.
 * @param packed the trainer is shared: its exit code may be another training's.
 */
export function nextAction(
  reason: Reason,
  view: TrainingSnapshot,
  spec: KubernetesSpec,
  patience: RestartCounts,
  clocks: PhaseTimes,
  packed = false,
): Action {
  const { limits } = spec;
  const forMs = clocks.nowMs - clocks.reasonMs;
  const over = (minutes: number | undefined) => minutes !== undefined && forMs > minutes * MINUTE_MS;
  const pod = newestPod(view.pods);
  const fail = (type: FailureType): Action => ({ act: 'fail', type, because: reason.message });
  const late = (what: string, type: FailureType, minutes: number | undefined): Action =>
    over(minutes)
      ? { act: 'fail', type, because: `${what} for more than ${minutes} minutes: ${reason.message}` }
      : { act: 'wait' };
  const replace = (counts: keyof RestartCounts, type: FailureType): Action =>
    patience[counts] >= limits[counts]
      ? {
          act: 'fail',
          type,
          because: `${reason.message}; that was number ${patience[counts] + 1}, training.kubernetes.limits.${counts} allows ${limits[counts]}`,
        }
      : { act: 'replace', counts };

  const kind: TrainingReasonKind = reason.kind;
  switch (kind) {
    case 'Unreachable':
      return { act: 'wait' };
    case 'Finished':
      return forMs > FILE_LAG_MS
        ? { act: 'fail', type: 'Trainer.Died', because: 'the Job is complete, but there is no manifest in the store' }
        : { act: 'wait' };
    case 'Queued':
      return late('Not admitted', 'Trainer.NotPlaced', limits.queuedMinutes);
    case 'Unschedulable':
      return late('No node', 'Trainer.NotPlaced', limits.queuedMinutes);
    case 'ImagePull':
      return late('The image could not be pulled', 'Trainer.CannotStart', limits.imageMinutes);
    case 'ConfigError':
      return late('The pod could not be made', 'Trainer.CannotStart', limits.imageMinutes);
    case 'Starting':
      return over(limits.startMinutes) ? replace('stalls', 'Trainer.Stalled') : { act: 'wait' };
    case 'Stalled':
      return replace('stalls', 'Trainer.Stalled');
    case 'Training': {
      const { trainingMinutes } = limits;
      const started = clocks.firstIterationMs;
      const spent =
        trainingMinutes !== undefined && started !== null && clocks.nowMs - started > trainingMinutes * MINUTE_MS;
      return spent
        ? {
            act: 'fail',
            type: 'Trainer.Deadline',
            because: `trained for more than ${trainingMinutes} minutes: ${reason.message}`,
          }
        : { act: 'wait' };
    }
    case 'Deadline':
      return fail('Trainer.Deadline');
    case 'OOMKilled':
      return fail('Trainer.OutOfMemory');
    case 'Preempted':
    case 'NodeLost':
    case 'GpuFault':
      if (isOver(pod, view)) return replace('disruptions', 'Trainer.Disrupted');
      return pod !== null && isForgotten(pod, clocks.nowMs)
        ? { act: 'forget-pod', pod: pod.metadata?.name ?? '' }
        : { act: 'wait' };
    case 'CodeError': {
      const code = pod === null ? null : exitCode(pod);
      // Whose code it is, failure.json says; the others may have their manifests.
      if (packed && code !== null && FATAL_EXIT_CODES.includes(code) && forMs <= FILE_LAG_MS) return { act: 'wait' };
      if (code !== null && FATAL_EXIT_CODES.includes(code)) return fail(EXIT_CODE_FAILURES[code] ?? 'Trainer.Failed');
      if (code === LOCKED_EXIT_CODE)
        return isOver(pod, view) ? replace('disruptions', 'Trainer.Disrupted') : { act: 'wait' };
      // Kubernetes tries again by itself until the Job's backoffLimit.
      return conditionOf(view.job?.status?.conditions, 'Failed') ? fail('Trainer.Failed') : { act: 'wait' };
    }
  }
}

/** Nothing of this pod runs any more. */
function isOver(pod: V1Pod | null, { job }: TrainingSnapshot): boolean {
  return (
    pod === null ||
    pod.status?.phase === 'Failed' ||
    pod.status?.phase === 'Succeeded' ||
    conditionOf(job?.status?.conditions, 'Failed') !== undefined
  );
}

function isForgotten(pod: V1Pod, nowMs: number): boolean {
  const deleted = pod.metadata?.deletionTimestamp;
  // The timestamp is the end of the grace period.
  return deleted !== undefined && nowMs - new Date(deleted).getTime() > FORGET_AFTER_MS;
}
