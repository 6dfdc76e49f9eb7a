/** Kubernetes objects as the API server returns them, with the fields that reasons depend on. */
import type { CoreV1Event, V1ContainerState, V1Job, V1Pod, V1PodCondition } from '@kubernetes/client-node';
import { kubernetesSpecSchema } from '../../contracts/config/kubernetes-spec';
import { buildJob, type JobRequest } from '../../k8s/job-manifest';
import type { GroupMember } from '../../k8s/group-member';
import { jobName, packName } from '../../k8s/names';
import type { TrainingSnapshot } from '../../k8s/training-snapshot';

export const NOW = Date.parse('2026-01-01T12:00:00Z');
export const ago = (seconds: number): Date => new Date(NOW - seconds * 1_000);

export const spec = (changes: object = {}) =>
  kubernetesSpecSchema.parse({ image: 'registry.example/trainer@sha256:1', store: { claim: 'store' }, ...changes });

const member = (capability: string): GroupMember => {
  const directoryKey = `runs/orders-desk:2026-01-01/training/${capability}-0123456789ab`;
  return { capability, directoryKey, directory: `/store/${directoryKey}` };
};

/** The request of a Job for one training, or for a pack of several. */
export const request = (
  changes: object = {},
  capabilities = ['verify-before-refund'],
  pack = capabilities.length,
): JobRequest => {
  const members = capabilities.map(member);
  const only = members[0]!;
  const folder = 'runs/orders-desk:2026-01-01/training/packs/01234567-1';
  const group =
    pack === 1
      ? { name: jobName(only.capability, only.directoryKey), pack: null, directoryKey: only.directoryKey }
      : { name: packName(folder, capabilities), pack, directoryKey: folder };
  return {
    spec: spec(changes),
    ...group,
    runId: 'orders-desk:2026-01-01',
    agent: 'orders-desk',
    members,
    storeRoot: '/store',
    baseModel: '/models/base',
    threads: 2,
    user: { uid: 10_001, gid: 10_001 },
    reportUrl: 'http://reports.whetstone:8090',
  };
};

export function job(
  changes: { suspend?: boolean; queue?: string; failed?: string; message?: string; complete?: boolean } = {},
): V1Job {
  const made = buildJob(request(changes.queue === undefined ? {} : { queue: changes.queue }));
  const condition = (type: string, reason: string) => ({
    type,
    status: 'True',
    reason,
    ...(changes.message === undefined ? {} : { message: changes.message }),
  });
  return {
    ...made,
    metadata: { ...made.metadata, uid: 'job-1' },
    spec: { ...made.spec!, ...(changes.suspend === undefined ? {} : { suspend: changes.suspend }) },
    status: {
      conditions: changes.failed
        ? [condition('Failed', changes.failed)]
        : changes.complete
          ? [condition('Complete', 'CompletionsReached')]
          : [],
    },
  };
}

export interface PodChanges {
  phase?: string;
  state?: V1ContainerState;
  conditions?: V1PodCondition[];
  reason?: string;
  message?: string;
  ready?: boolean;
  deletedSecondsAgo?: number;
  node?: string;
}

export function pod(changes: PodChanges = {}): V1Pod {
  const {
    phase = 'Running',
    state,
    conditions = [],
    reason,
    message,
    ready = false,
    deletedSecondsAgo,
    node = 'gpu-7',
  } = changes;
  return {
    metadata: {
      name: 'pod-1',
      uid: 'pod-1',
      creationTimestamp: ago(100),
      ...(deletedSecondsAgo === undefined ? {} : { deletionTimestamp: ago(deletedSecondsAgo) }),
    },
    spec: { nodeName: node, containers: [{ name: 'trainer', resources: { limits: { memory: '8Gi' } } }] },
    status: {
      phase,
      conditions,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      ...(state === undefined
        ? {}
        : { containerStatuses: [{ name: 'trainer', image: '', imageID: '', ready, restartCount: 0, state }] }),
    },
  };
}

export const running = (secondsAgo: number): V1ContainerState => ({ running: { startedAt: ago(secondsAgo) } });
export const ended = (code: number, message = '', reason = 'Error'): V1ContainerState => ({
  terminated: { exitCode: code, message, reason },
});
export const disrupted = (reason: string, message = 'because'): V1PodCondition => ({
  type: 'DisruptionTarget',
  status: 'True',
  reason,
  message,
});

export const event = (
  reason: string,
  message: string,
  about = 'pod-1',
  type = 'Warning',
  component = 'kubelet',
): CoreV1Event => ({
  metadata: { creationTimestamp: ago(10) },
  involvedObject: { uid: about },
  reason,
  message,
  type,
  source: { component },
});

export const snapshot = (changes: Partial<TrainingSnapshot> = {}): TrainingSnapshot => ({
  job: job(),
  pods: [],
  events: [],
  contactMs: NOW,
  trainer: null,
  ...changes,
});
