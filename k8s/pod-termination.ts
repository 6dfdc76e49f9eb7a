import type { CoreV1Event, V1Pod } from '@kubernetes/client-node';
import { STOPPED_EXIT_CODE } from './exit-codes';
import { conditionOf } from './objects';
import type { Reason } from './training-snapshot';

/** Kinds of disruption, by the reason of the pod's condition DisruptionTarget. None is the training's fault. */
const DISRUPTIONS: Record<string, Reason['kind']> = {
  PreemptionByScheduler: 'Preempted',
  EvictionByEvictionAPI: 'Preempted',
  TerminationByKubelet: 'Preempted',
  DeletionByTaintManager: 'NodeLost',
  DeletionByPodGC: 'NodeLost',
};
/** How the driver's log lines name a fault of the GPU; the number is NVIDIA's Xid. */
const XID = /\bXid(?: \([^)]*\))?:? (\d{1,3})\b/;
const GPU_FAULTS = [
  /uncorrectable (?:NVLink|ECC) error/i,
  /GPU has fallen off the bus|GPU is lost/i,
  /CUDA error: (?:unspecified launch failure|device not ready)/i,
];
/** How much of the log's end goes into a message. */
const LOG_TAIL_CHARACTERS = 400;

/** Why a pod ended, or is about to end; null while it runs undisturbed. */
export function terminationReason(pod: V1Pod, events: readonly CoreV1Event[] = []): Reason | null {
  const { status, metadata } = pod;
  const terminated = status?.containerStatuses?.[0]?.state?.terminated;
  const log = (terminated?.message ?? '').trim();
  const xid = XID.exec(log)?.[1];
  if (xid !== undefined || GPU_FAULTS.some((fault) => fault.test(log))) {
    return {
      kind: 'GpuFault',
      message: `${xid === undefined ? '' : `Xid ${xid} on ${pod.spec?.nodeName}: `}${tail(log)}`,
    };
  }
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
  if (status?.reason === 'NodeShutdown' || status?.reason === 'Terminated')
    return { kind: 'Preempted', message: status.message ?? 'its node was shut down' };
  if (status?.reason === 'DeadlineExceeded')
    return { kind: 'Deadline', message: status.message ?? 'the pod was active longer than its deadline allows' };
  if (terminated?.reason === 'OOMKilled')
    return { kind: 'OOMKilled', message: `the trainer used more than its ${memoryOf(pod)} of memory and was killed` };
  if (terminated && terminated.exitCode === STOPPED_EXIT_CODE)
    return { kind: 'Preempted', message: 'the pod was told to stop and saved a checkpoint' };
  if (metadata?.deletionTimestamp) return { kind: 'Preempted', message: 'the pod was deleted' };
  if (!terminated)
    return status?.phase === 'Failed'
      ? { kind: 'CodeError', message: status.message ?? status.reason ?? 'the pod failed' }
      : null;
  if (terminated.exitCode === 0) return { kind: 'Finished', message: 'the trainer is done' };
  if (terminated.reason === 'StartError' || terminated.reason === 'ContainerCannotRun')
    return { kind: 'ConfigError', message: tail(log) || terminated.reason };
  const signal = terminated.exitCode > 128 ? ` (signal ${terminated.exitCode - 128})` : '';
  return {
    kind: 'CodeError',
    message: `the trainer ended with code ${terminated.exitCode}${signal}${log === '' ? '' : `: ${tail(log)}`}`,
  };
}

/** Exit code of a pod's trainer; null while it runs, or when the node was lost before it reported one. */
export function exitCode(pod: V1Pod): number | null {
  return pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode ?? null;
}

function lostNode(pod: V1Pod, events: readonly CoreV1Event[]): string | null {
  const { status, metadata, spec } = pod;
  const about = events.find(
    ({ involvedObject, reason }) => involvedObject.uid === metadata?.uid && reason === 'NodeNotReady',
  );
  // When a node falls silent, the control plane sets the pod's condition Ready to False. The container's own status
  // stays as the node last reported it.
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const containerReady = status?.containerStatuses?.[0]?.ready;
  const silent = ready?.status === 'False' && containerReady === true && status?.phase === 'Running';
  return about !== undefined && silent ? `node ${spec?.nodeName} has fallen silent` : null;
}

const memoryOf = (pod: V1Pod): string => pod.spec?.containers[0]?.resources?.limits?.['memory'] ?? 'limit';

/** The last lines of a log, cut to a length that fits into a message. */
function tail(log: string): string {
  const text = log.split('\n').filter(Boolean).slice(-6).join('\n');
  return text.length <= LOG_TAIL_CHARACTERS ? text : `…${text.slice(-LOG_TAIL_CHARACTERS)}`;
}
