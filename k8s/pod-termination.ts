import type { CoreV1Event, V1Pod } from '@kubernetes/client-node';
import { TRAINER_EXIT_CODES } from './exit-codes';
import { CONTAINER } from './names';
import { conditionOf, trainerStatus } from './objects';
import { relevantLines } from './relevant-lines';
import type { Reason } from './training-snapshot';

/** Kinds of disruption, by the reason of the pod's condition DisruptionTarget. None of them is the training's fault. */
const DISRUPTIONS: Record<string, Reason['kind']> = {
  PreemptionByScheduler: 'Preempted',
  EvictionByEvictionAPI: 'Preempted',
  TerminationByKubelet: 'Preempted',
  DeletionByTaintManager: 'NodeLost',
  DeletionByPodGC: 'NodeLost',
};
/**
 * The library's last message if a device fault ends the process before Python notices. It counts only after a signal. A
 * log can quote an environment, but an environment cannot abort the trainer.
 */
const CUDA_ABORT =
  /^\s*what\(\):\s+(?:\[.*?\] )?CUDA error: (?:uncorrectable|unspecified launch failure|device not ready|unknown)/im;
const ABORTED_EXIT_CODE = 134;
/**
 * The kubelet's message for a pod that it evicts because of the pod's own use, which would end the same way on any
 * node. The pod exceeded a limit of its disk use, or the trainer's request. A pod that requested 0 is named even for
 * the smallest use.
 */
const OWN_DISK_LIMIT = new RegExp(
  '^(Usage of EmptyDir volume .* exceeds the limit|Pod ephemeral local storage usage exceeds the total limit|' +
    'Container \\S+ exceeded its local ephemeral storage limit)',
);
const OWN_REQUEST = new RegExp(
  `Container ${CONTAINER} was using [^,]+, request is (?!0,)[^,]+, has larger consumption of ([a-z-]+)`,
);
/** Reasons of the kubelet for a pod that it does not start: its node lacks what the scheduler saw there. */
const NOT_ADMITTED = /^(?:UnexpectedAdmissionError|TopologyAffinityError|NodeAffinity|OutOf.+)$/;
/** Number of characters of the log's end in a message. */
const LOG_TAIL_CHARACTERS = 400;

/** Why a pod ended, or is about to end; null while it runs undisturbed. */
export function terminationReason(pod: V1Pod, events: readonly CoreV1Event[] = []): Reason | null {
  const { status, metadata } = pod;
  const terminated = trainerStatus(pod)?.state?.terminated;
  const log = (terminated?.message ?? '').trim();
  const own = terminated ? ownReason(terminated.exitCode, log, pod) : null;
  if (own !== null) return own;
  const overuse = status?.reason === 'Evicted' ? ownUse(status.message ?? '') : null;
  if (overuse !== null) return overuse;
  const lost = lostNode(pod, events);
  if (lost !== null && !terminated) return { kind: 'NodeLost', message: lost };
  const disruption = conditionOf(status?.conditions, 'DisruptionTarget');
  if (disruption)
    return {
      kind: DISRUPTIONS[disruption.reason ?? ''] ?? 'Preempted',
      message: disruption.message ?? disruption.reason ?? 'the pod was disrupted',
    };
  if (status?.reason === 'Evicted' || status?.reason === 'Preempting')
    return { kind: 'Preempted', message: status.message ?? status.reason };
  if (NOT_ADMITTED.test(status?.reason ?? ''))
    return { kind: 'Preempted', message: `its node refused the pod: ${status?.message ?? status?.reason}` };
  if (status?.reason === 'NodeShutdown' || status?.reason === 'Terminated')
    return { kind: 'Preempted', message: status.message ?? 'its node was shut down' };
  if (status?.reason === 'DeadlineExceeded')
    return { kind: 'Deadline', message: status.message ?? 'the pod was active longer than its deadline allows' };
  // The exit code is made up.
  if (terminated?.reason === 'ContainerStatusUnknown')
    return { kind: 'NodeLost', message: `node ${pod.spec?.nodeName} does not know how the trainer ended` };
  if (terminated?.reason === 'OOMKilled')
    return { kind: 'OOMKilled', message: `the trainer used more than its ${memoryOf(pod)} of memory and was killed` };
  if (terminated && terminated.exitCode === TRAINER_EXIT_CODES.stopped)
    return { kind: 'Preempted', message: 'the pod was told to stop and saved a checkpoint' };
  if (metadata?.deletionTimestamp) return { kind: 'Preempted', message: 'the pod was deleted' };
  if (!terminated)
    return status?.phase === 'Failed'
      ? { kind: 'CodeError', message: status.message ?? failedInit(pod) ?? status.reason ?? 'the pod failed' }
      : null;
  if (terminated.exitCode === 0) return { kind: 'Finished', message: 'the trainer is done' };
  if (terminated.reason === 'StartError' || terminated.reason === 'ContainerCannotRun')
    return { kind: 'ConfigError', message: tail(log) || terminated.reason };
  if (terminated.exitCode === ABORTED_EXIT_CODE && CUDA_ABORT.test(log))
    return { kind: 'GpuFault', message: `the GPU of ${pod.spec?.nodeName} failed: ${tail(log)}` };
  const signal = terminated.exitCode > 128 ? ` (signal ${terminated.exitCode - 128})` : '';
  return {
    kind: 'CodeError',
    message: `the trainer ended with code ${terminated.exitCode}${signal}${log === '' ? '' : `: ${tail(log)}`}`,
  };
}

/**
 * The trainer's own reason for its end, by its exit code; null if the cluster knows more. The log's text never decides,
 * because a log may quote an environment.
 */
function ownReason(code: number, log: string, pod: V1Pod): Reason | null {
  const said = log === '' ? '' : `: ${tail(log)}`;
  switch (code) {
    case TRAINER_EXIT_CODES.gpuFault:
      return { kind: 'GpuFault', message: `the GPU of ${pod.spec?.nodeName} failed${said}` };
    case TRAINER_EXIT_CODES.gpuOutOfMemory:
      return { kind: 'GpuOutOfMemory', message: `the memory of its GPU was too small${said}` };
    case TRAINER_EXIT_CODES.diskFull:
      return { kind: 'DiskFull', message: `the disk of its directory is full${said}` };
    case TRAINER_EXIT_CODES.unattended:
      return { kind: 'Preempted', message: 'no worker attended to the trainer; it saved a checkpoint and ended' };
    case TRAINER_EXIT_CODES.jobInvalid:
    case TRAINER_EXIT_CODES.environmentFailed:
    case TRAINER_EXIT_CODES.environmentDiffers:
    case TRAINER_EXIT_CODES.diverged:
      return { kind: 'CodeError', message: `the trainer ended with code ${code}${said}` };
    default:
      return null;
  }
}

/** The reason of a pod that was evicted because of its own use; null if the node ran out of a resource. */
function ownUse(message: string): Reason | null {
  const used = OWN_DISK_LIMIT.test(message) ? 'ephemeral-storage' : OWN_REQUEST.exec(message)?.[1];
  if (used === undefined) return null;
  return { kind: used === 'memory' ? 'OOMKilled' : 'DiskLimit', message: `the pod was evicted: ${message.trim()}` };
}

/** The failure of a container that runs before the trainer; undefined if there is none. */
function failedInit(pod: V1Pod): string | undefined {
  const failed = pod.status?.initContainerStatuses?.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const ended = failed?.state?.terminated;
  if (failed === undefined || ended === undefined) return undefined;
  const said = ended.message ? `: ${tail(ended.message)}` : '';
  return `the container ${failed.name}, which runs before the trainer, ended with code ${ended.exitCode}${said}`;
}

/** Exit code of a pod's trainer; null while it runs, or if the node was lost before it reported one. */
export function exitCode(pod: V1Pod): number | null {
  return trainerStatus(pod)?.state?.terminated?.exitCode ?? null;
}

function lostNode(pod: V1Pod, events: readonly CoreV1Event[]): string | null {
  const { status, metadata, spec } = pod;
  const about = events.find(
    ({ involvedObject, reason }) => involvedObject.uid === metadata?.uid && reason === 'NodeNotReady',
  );
  // When a node stops responding, the control plane sets the pod's condition Ready to False. The container's own status
  // stays as the node last reported it.
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const containerReady = trainerStatus(pod)?.ready;
  const silent = ready?.status === 'False' && containerReady === true && status?.phase === 'Running';
  return about !== undefined && silent ? `node ${spec?.nodeName} has fallen silent` : null;
}

const memoryOf = (pod: V1Pod): string =>
  pod.spec?.containers.find(({ name }) => name === CONTAINER)?.resources?.limits?.['memory'] ?? 'limit';

/** The relevant lines of a log, shortened for a message. */
const tail = (log: string): string => relevantLines(log, { lines: 6, characters: LOG_TAIL_CHARACTERS });
