import type { V1ContainerState, V1Pod } from '@kubernetes/client-node';
import { conditionOf, newestEvent, newestPod, trainerStatus } from './objects';
import { terminationReason } from './pod-termination';
import type { Reason, TrainingSnapshot } from './training-snapshot';

/** Limits that decide between kinds of reasons. */
interface ReasonLimits {
  /** After this time without a new iteration, a training counts as stalled. */
  stalledMs: number;
}

/**
 * After this time without contact, the API counts as unreachable: a working watch lists everything more often, on a
 * timer.
 */
const SILENCE_MS = 20_000;
/** An iteration may take up to this many times the median, because at times one is much longer than the others. */
const STALLED_FACTOR = 10;

/** Reasons that the kubelet gives for a waiting container if the image is the cause. */
const IMAGE_ERRORS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
/** The kubelet's reasons if the pod's configuration is the cause. */
const CONTAINER_ERRORS = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);
/** Reasons of events: what a container needs is not there; its image is being pulled, or was. */
const BLOCKED = new Set(['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox', 'FailedMapVolume']);
const PULLS = new Set(['Pulling', 'Pulled']);

/**
 * The reason of a training's current state. A pure function: the first matching rule gives the reason. Rules are
 * ordered by how much they say about the training: first no contact with the API, last its progress.
 */
export function trainingReason(snapshot: TrainingSnapshot, limits: ReasonLimits, nowMs: number): Reason {
  const silentMs = nowMs - snapshot.contactMs;
  if (silentMs > SILENCE_MS) {
    return {
      kind: 'Unreachable',
      message: `the Kubernetes API has not answered for ${seconds(silentMs)}; the training itself may go on`,
    };
  }
  const { job } = snapshot;
  if (job === null) return { kind: 'Starting', message: 'the Job is being made' };
  if (conditionOf(job.status?.conditions, 'Complete')) return { kind: 'Finished', message: 'the Job is complete' };
  const failed = conditionOf(job.status?.conditions, 'Failed') ?? conditionOf(job.status?.conditions, 'FailureTarget');
  if (failed?.reason === 'DeadlineExceeded')
    return { kind: 'Deadline', message: 'the Job was active longer than its deadline allows' };
  const pod = newestPod(snapshot.pods);
  if (failed)
    return (
      (pod && terminationReason(pod, snapshot.events)) ?? {
        kind: 'CodeError',
        message: failed.message ?? failed.reason ?? 'the Job failed',
      }
    );
  if (job.spec?.suspend) return suspended(snapshot);
  if (pod === null) return withoutPod(snapshot);
  return (
    terminationReason(pod, snapshot.events) ??
    pendingReason(pod, snapshot) ??
    runningReason(snapshot, pod, limits, nowMs)
  );
}

function suspended({ job, events }: TrainingSnapshot): Reason {
  const queue = job?.metadata?.labels?.['kueue.x-k8s.io/queue-name'];
  const fromKueue = newestEvent(events, ({ source, reportingComponent }) =>
    /kueue/.test(`${source?.component} ${reportingComponent}`),
  );
  if (queue === undefined) return { kind: 'Queued', message: 'the Job is suspended: somebody has to resume it' };
  if (fromKueue) return { kind: 'Queued', message: `queue ${queue}: ${fromKueue.message}` };
  const question = 'is it installed, and is there such a LocalQueue?';
  return {
    kind: 'Queued',
    message: `queue ${queue} has not admitted the Job; Kueue has said nothing about it: ${question}`,
  };
}

function withoutPod({ events, job }: TrainingSnapshot): Reason {
  const refused = newestEvent(events, ({ reason }) => reason === 'FailedCreate');
  if (refused) {
    const message = refused.message ?? 'the pod could not be created';
    return { kind: /exceeded quota/.test(message) ? 'Queued' : 'ConfigError', message };
  }
  const failures = job?.status?.failed ?? 0;
  return {
    kind: 'Starting',
    message: failures === 0 ? 'its pod is being made' : `its next pod is being made (${failures} before it failed)`,
  };
}

/** The reason of a pod that waits for a node or for its container; null once the container has started. */
function pendingReason(pod: V1Pod, { events }: TrainingSnapshot): Reason | null {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    const message = scheduled.message ?? 'the scheduler finds no node';
    return { kind: scheduled.reason === 'SchedulingGated' ? 'Queued' : 'Unschedulable', message };
  }
  const own = trainerStatus(pod)?.state;
  if (own?.running || own?.terminated) return null;
  const state = heldState(pod) ?? own;
  const about = events.filter(({ involvedObject }) => involvedObject.uid === pod.metadata?.uid);
  const waiting = state?.waiting;
  const held = waiting?.reason ?? '';
  if (IMAGE_ERRORS.has(held)) {
    // Between two tries the status only says that the kubelet backs off; the error itself is in an event.
    const pull = newestEvent(about, ({ message }) =>
      /Failed to pull image|not present with pull policy/.test(message ?? ''),
    )?.message;
    return { kind: 'ImagePull', message: pull ?? waiting?.message ?? held };
  }
  if (CONTAINER_ERRORS.has(held)) return { kind: 'ConfigError', message: `${held}: ${waiting?.message ?? ''}` };
  // The image is pulled once all volumes are there, and an earlier warning stays.
  const last = newestEvent(about, ({ reason }) => BLOCKED.has(reason ?? '') || PULLS.has(reason ?? ''));
  if (last?.message !== undefined && BLOCKED.has(last.reason ?? ''))
    return { kind: 'ConfigError', message: last.message };
  if (last?.reason === 'Pulling') return { kind: 'Starting', message: `${last.message} on ${pod.spec?.nodeName}` };
  return {
    kind: 'Starting',
    message: `the container is being made${pod.spec?.nodeName ? ` on ${pod.spec.nodeName}` : ''}`,
  };
}

/** The state of a container that runs before the trainer and cannot start, so that the trainer waits for it. */
function heldState(pod: V1Pod): V1ContainerState | undefined {
  return pod.status?.initContainerStatuses?.find(({ state }) => {
    const held = state?.waiting?.reason ?? '';
    return IMAGE_ERRORS.has(held) || CONTAINER_ERRORS.has(held);
  })?.state;
}

function runningReason(
  { trainer, waiting }: TrainingSnapshot,
  pod: V1Pod,
  { stalledMs }: ReasonLimits,
  nowMs: number,
): Reason {
  // It is alive, and another pod would also have to wait.
  if (waiting) return { kind: 'Training', message: waiting };
  const started = trainerStatus(pod)?.state?.running?.startedAt;
  const startedMs = started ? new Date(started).getTime() : nowMs;
  // startedAt is in whole seconds.
  if (trainer === null || trainer.atMs < startedMs - 1_000) {
    const resumesAt = trainer === null ? '' : `, to go on after iteration ${trainer.iteration}`;
    return { kind: 'Starting', message: `the trainer has been loading for ${seconds(nowMs - startedMs)}${resumesAt}` };
  }
  const silentMs = nowMs - trainer.atMs;
  const allowedMs = Math.max(stalledMs, STALLED_FACTOR * (trainer.medianMs ?? 0));
  const probe = trainer.probe === null ? '' : `, ${trainer.probe}`;
  const progress = `iteration ${trainer.iteration} of ${trainer.iterations}, reward ${trainer.reward.toFixed(2)}${probe}`;
  if (silentMs > allowedMs && trainer.iteration < trainer.iterations) {
    return {
      kind: 'Stalled',
      message: `no iteration for ${seconds(silentMs)} (${progress}), although the container runs`,
    };
  }
  return { kind: 'Training', message: progress };
}

const seconds = (ms: number): string => `${Math.max(0, Math.round(ms / 1_000))} s`;
