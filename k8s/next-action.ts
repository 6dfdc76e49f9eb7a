import type { V1Pod } from '@kubernetes/client-node';
import type { TrainingReasonKind } from '../contracts/artifacts/training';
import type { KubernetesSpec } from '../contracts/config/kubernetes-spec';
import type { FailureType } from '../contracts/failures/run';
import { EXIT_CODE_FAILURES, FATAL_EXIT_CODES, TRAINER_EXIT_CODES } from './exit-codes';
import { conditionOf, newestPod } from './objects';
import { exitCode } from './pod-termination';
import type { Reason, TrainingSnapshot } from './training-snapshot';

/**
 * How often a trainer has been replaced since its last checkpoint, by cause. It is stored in the directory of its
 * trainer group, so that another worker continues the count.
 */
export interface RestartCounts {
  disruptions: number;
  stalls: number;
  /** Number of Jobs that crashed as often as their backoffLimit allows, or ended without a manifest. */
  crashes: number;
}

/** Number of crashed Jobs that may be replaced without a new checkpoint in between. */
const CRASHED_JOBS = 1;

/** The next action of a worker for a training on a cluster. */
export type Action =
  | { kind: 'wait' }
  /**
   * Delete the Job and create it again. So the trainer resumes from its last checkpoint at once, while Kubernetes would
   * wait before the next pod. `counter` counts it.
   */
  | { kind: 'replace'; counter: keyof RestartCounts }
  /** Delete a pod without waiting for its node, which does not confirm the pod's end. */
  | { kind: 'force-delete-pod'; pod: string }
  /** End the attempt with this failure; `message` says why. */
  | { kind: 'fail'; type: FailureType; message: string };

/** On a network file system, a trainer's last files may become visible here this long after its end. */
const FILE_LAG_MS = 30_000;
/** How long after a pod's grace period its node may take to confirm the end. */
const FORCE_DELETE_AFTER_MS = 30_000;
const MINUTE_MS = 60_000;

/** Start times of the phases with limits, in milliseconds since 1970. */
interface PhaseTimes {
  nowMs: number;
  /** Time since which the reason has had this kind. */
  reasonSinceMs: number;
  /** End of the training's first iteration; null before that. */
  firstIterationMs: number | null;
}

/**
 * Decides the reaction to a training's reason. A pure function. Each kind of reason has its own limit; the training
 * time counts from the first iteration.
 * @param restarts how often the trainer was replaced before this Job.
 * @param shared whether several trainings share the trainer, so that its exit code may be another training's.
 */
export function nextAction(
  reason: Reason,
  snapshot: TrainingSnapshot,
  spec: KubernetesSpec,
  restarts: RestartCounts,
  times: PhaseTimes,
  shared = false,
): Action {
  const { limits } = spec;
  const forMs = times.nowMs - times.reasonSinceMs;
  const lastedOver = (minutes: number | undefined) => minutes !== undefined && forMs > minutes * MINUTE_MS;
  const pod = newestPod(snapshot.pods);
  const fail = (type: FailureType): Action => ({ kind: 'fail', type, message: reason.message });
  const failAfter = (minutes: number | undefined, type: FailureType, what: string): Action =>
    lastedOver(minutes)
      ? { kind: 'fail', type, message: `${what} for more than ${minutes} minutes: ${reason.message}` }
      : { kind: 'wait' };
  const replace = (counter: keyof RestartCounts, type: FailureType, what = reason.message): Action => {
    const limit = counter === 'crashes' ? CRASHED_JOBS : limits[counter];
    if (restarts[counter] < limit) return { kind: 'replace', counter };
    const allowed = counter === 'crashes' ? '' : `, training.kubernetes.limits.${counter} allows ${limit}`;
    const times = `this was number ${restarts[counter] + 1} since its last checkpoint${allowed}`;
    return { kind: 'fail', type, message: `${what}; ${times}` };
  };

  const kind: TrainingReasonKind = reason.kind;
  switch (kind) {
    case 'Unreachable':
      return { kind: 'wait' };
    case 'Finished':
      return forMs > FILE_LAG_MS
        ? replace('crashes', 'Trainer.Failed', 'the Job is complete, but there is no manifest in the store')
        : { kind: 'wait' };
    case 'Queued':
      return failAfter(limits.queuedMinutes, 'Trainer.NotPlaced', 'Not admitted');
    case 'Unschedulable':
      return failAfter(limits.queuedMinutes, 'Trainer.NotPlaced', 'No node');
    case 'ImagePull':
      return failAfter(limits.imageMinutes, 'Trainer.CannotStart', 'The image could not be pulled');
    case 'ConfigError':
      return failAfter(limits.imageMinutes, 'Trainer.CannotStart', 'The pod could not be created');
    case 'Starting':
      return lastedOver(limits.startMinutes) ? replace('stalls', 'Trainer.Stalled') : { kind: 'wait' };
    case 'Stalled':
      return replace('stalls', 'Trainer.Stalled');
    case 'Training':
      return afterTraining(reason, limits, times);
    case 'Deadline':
      return fail('Trainer.Deadline');
    case 'OOMKilled':
      return fail('Trainer.OutOfMemory');
    case 'GpuOutOfMemory':
      return fail('Trainer.GpuOutOfMemory');
    case 'DiskLimit':
      return fail('Trainer.DiskLimit');
    case 'DiskFull':
      return fail('Trainer.DiskFull');
    case 'Preempted':
    case 'NodeLost':
    case 'GpuFault':
      if (isOver(pod, snapshot)) return replace('disruptions', 'Trainer.Disrupted');
      return pod !== null && isStuckTerminating(pod, times.nowMs)
        ? { kind: 'force-delete-pod', pod: pod.metadata?.name ?? '' }
        : { kind: 'wait' };
    case 'CodeError': {
      const code = pod === null ? null : exitCode(pod);
      // failure.json says which training has this code; the other trainings may already have their manifests.
      if (shared && code !== null && FATAL_EXIT_CODES.includes(code) && forMs <= FILE_LAG_MS) return { kind: 'wait' };
      if (code !== null && FATAL_EXIT_CODES.includes(code)) return fail(EXIT_CODE_FAILURES[code] ?? 'Trainer.Failed');
      if (code === TRAINER_EXIT_CODES.locked)
        return isOver(pod, snapshot) ? replace('disruptions', 'Trainer.Disrupted') : { kind: 'wait' };
      // Until the Job's backoffLimit is reached, Kubernetes starts the next pod by itself. A sidecar that keeps running
      // prevents the pod, and so the Job, from ending.
      return conditionOf(snapshot.job?.status?.conditions, 'Failed') || (code !== null && hasSidecar(pod, forMs))
        ? replace('crashes', 'Trainer.Failed')
        : { kind: 'wait' };
    }
  }
}

function afterTraining({ message }: Reason, { trainingMinutes }: KubernetesSpec['limits'], times: PhaseTimes): Action {
  const started = times.firstIterationMs;
  if (trainingMinutes === undefined || started === null || times.nowMs - started <= trainingMinutes * MINUTE_MS)
    return { kind: 'wait' };
  const said = `trained for more than ${trainingMinutes} minutes: ${message}`;
  return { kind: 'fail', type: 'Trainer.Deadline', message: said };
}

/** Whether only other containers of the pod still run, long after the trainer has ended. */
const hasSidecar = (pod: V1Pod | null, endedForMs: number): boolean =>
  pod?.status?.phase === 'Running' && endedForMs > FILE_LAG_MS;

/** Whether no process of this pod's trainer runs any more. */
function isOver(pod: V1Pod | null, { job }: TrainingSnapshot): boolean {
  return (
    pod === null ||
    exitCode(pod) !== null ||
    pod.status?.phase === 'Failed' ||
    pod.status?.phase === 'Succeeded' ||
    conditionOf(job?.status?.conditions, 'Failed') !== undefined
  );
}

/** Whether a deleted pod should have ended long ago, but its node has not confirmed it. */
function isStuckTerminating(pod: V1Pod, nowMs: number): boolean {
  const deleted = pod.metadata?.deletionTimestamp;
  // deletionTimestamp is the end of the grace period, not its start.
  return deleted !== undefined && nowMs - new Date(deleted).getTime() > FORCE_DELETE_AFTER_MS;
}
