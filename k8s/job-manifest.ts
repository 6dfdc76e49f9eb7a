import type {
  V1Container,
  V1Job,
  V1PodFailurePolicy,
  V1PodSecurityContext,
  V1PodSpec,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node';
import type { KubernetesSpec } from '../contracts/config/kubernetes-spec';
import { FATAL_EXIT_CODES, STOPPED_EXIT_CODE } from './exit-codes';
import { jobFilePath, type GroupMember } from './group-member';
import { ANNOTATIONS, CONTAINER, LABELS, labelValue, MANAGER, memberLabel, REPORT_AUDIENCE } from './names';
import { POD_TOKEN_FILE, POD_TOKEN_FOLDER, reportVariables } from './report-variables';

/** What one trainer asks of the cluster. */
export interface JobRequest {
  spec: KubernetesSpec;
  /** Of the Job: `jobName` of its training, or `packName`. */
  name: string;
  runId: string;
  agent: string;
  /** The trainings that share the Job, itself a pack of that many; null: the Job is of one training. */
  pack: number | null;
  /** Key of the directory of what belongs to the trainer as a whole: the training's own, or the pack's. */
  directoryKey: string;
  /** What it trains, in the order of its arguments; of a pack, those that need it still. */
  members: readonly GroupMember[];
  /** Absolute path of the store's root; the store's volume is mounted there. */
  storeRoot: string;
  /** CPU threads of the trainer. */
  threads: number;
  /** User and group that the pod runs as. */
  user: { uid: number; gid: number };
  /** Base address of the report endpoint, as pods reach it; null: no reports. */
  reportUrl: string | null;
}

/** Lifetime of a report token; the kubelet renews it before. The API server gives no shorter one. */
const TOKEN_SECONDS = 600;

/**
 * The Job of a training or of a pack: a function of its request alone. Its pod template cannot be changed afterwards,
 * so an existing Job is attached to, never applied again; that also leaves `suspend` to Kueue.
 */
export function buildJob(request: JobRequest): V1Job {
  const { spec, name, runId, agent, pack, directoryKey, members } = request;
  const capabilities = members.map(({ capability }) => capability);
  const labels = {
    [LABELS.manager]: MANAGER,
    [LABELS.component]: CONTAINER,
    [LABELS.agent]: labelValue(agent),
    [LABELS.run]: labelValue(runId),
    ...(pack === null
      ? { [LABELS.capability]: labelValue(capabilities[0] ?? '') }
      : {
          [LABELS.pack]: String(pack),
          ...Object.fromEntries(capabilities.map((capability) => [memberLabel(capability), ''])),
        }),
  };
  const annotations = {
    [ANNOTATIONS.run]: runId,
    [ANNOTATIONS.job]: capabilities.join(', '),
    [ANNOTATIONS.directory]: directoryKey,
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace: spec.namespace,
      labels: { ...labels, ...(spec.queue === undefined ? {} : { [LABELS.queue]: spec.queue }) },
      annotations,
    },
    spec: {
      parallelism: 1,
      completions: 1,
      // Kueue's webhook would set it too; said here, the Job does not start either where the webhook is down.
      ...(spec.queue === undefined ? {} : { suspend: true }),
      backoffLimit: spec.backoffLimit,
      activeDeadlineSeconds: spec.deadlineMinutes * 60,
      ttlSecondsAfterFinished: spec.ttlMinutes * 60,
      // The next pod waits for the end of the one before: both would write the same directory.
      podReplacementPolicy: 'Failed',
      podFailurePolicy: podFailurePolicy(),
      template: { metadata: { labels, annotations }, spec: podSpec(request) },
    },
  };
}

function podFailurePolicy(): V1PodFailurePolicy {
  return {
    rules: [
      { action: 'FailJob', onExitCodes: { containerName: CONTAINER, operator: 'In', values: FATAL_EXIT_CODES } },
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      // Set by a controller on pods that will never start; Kubernetes itself leaves them pending.
      { action: 'FailJob', onPodConditions: [{ type: 'ConfigIssue', status: 'True' }] },
      { action: 'Ignore', onExitCodes: { containerName: CONTAINER, operator: 'In', values: [STOPPED_EXIT_CODE] } },
    ],
  };
}

function podSpec(request: JobRequest): V1PodSpec {
  const { spec, user } = request;
  return {
    restartPolicy: 'Never',
    serviceAccountName: spec.serviceAccount,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: spec.graceSeconds,
    ...(spec.imagePullSecrets.length === 0
      ? {}
      : { imagePullSecrets: spec.imagePullSecrets.map((name) => ({ name })) }),
    ...(spec.priorityClass === undefined ? {} : { priorityClassName: spec.priorityClass }),
    ...(spec.runtimeClass === undefined ? {} : { runtimeClassName: spec.runtimeClass }),
    ...(Object.keys(spec.nodeSelector).length === 0 ? {} : { nodeSelector: spec.nodeSelector }),
    ...(spec.tolerations.length === 0 ? {} : { tolerations: spec.tolerations }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user.uid,
      runAsGroup: user.gid,
      // Claims become writable for this group; folders of the node are left as they are.
      fsGroup: user.gid,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile:
        spec.seccomp === 'RuntimeDefault'
          ? { type: 'RuntimeDefault' }
          : { type: 'Localhost', localhostProfile: spec.seccomp.slice('localhost/'.length) },
      ...appArmorProfile(spec.appArmor),
    },
    containers: [container(request)],
    volumes: volumes(request),
  };
}

/**
 * The part of a pod's security context that names its AppArmor profile; empty where nothing was asked for.
 * @param profile `RuntimeDefault`, `Unconfined` or `localhost/<name>`.
 */
function appArmorProfile(profile: string | undefined): Pick<V1PodSecurityContext, 'appArmorProfile'> {
  if (profile === undefined) return {};
  const local = profile.startsWith('localhost/') ? profile.slice('localhost/'.length) : null;
  return { appArmorProfile: local === null ? { type: profile } : { type: 'Localhost', localhostProfile: local } };
}

function container({ spec, members, threads, storeRoot, reportUrl }: JobRequest): V1Container {
  const { cpu, memory, gpus, gpuResource } = spec.resources;
  const gpu = gpus === 0 ? {} : { [gpuResource]: String(gpus) };
  const reports = reportUrl === null ? {} : reportVariables(reportUrl, members, () => POD_TOKEN_FILE);
  return {
    name: CONTAINER,
    image: spec.image,
    imagePullPolicy: spec.imagePullPolicy,
    args: members.flatMap(({ directory }) => ['--job', jobFilePath(directory)]),
    env: [
      { name: 'OMP_NUM_THREADS', value: String(threads) },
      // Who holds the directory's fence: a pod's own id cannot be another pod's.
      { name: 'WHET_FENCE', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      ...Object.entries(reports).map(([name, value]) => ({ name, value })),
    ],
    // The CPU may be exceeded, memory may not; extended resources are the same on both sides.
    resources: { requests: { cpu, memory, ...gpu }, limits: { memory, ...gpu } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    // The log's end stays with the pod's status, so that a reason can be given without asking the node.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: mounts(spec, storeRoot, reportUrl !== null),
  };
}

function mounts(spec: KubernetesSpec, storeRoot: string, reports: boolean): V1VolumeMount[] {
  return [
    {
      name: 'store',
      mountPath: storeRoot,
      ...(spec.store.subPath === undefined ? {} : { subPath: spec.store.subPath }),
    },
    { name: 'tmp', mountPath: '/tmp' },
    ...(reports ? [{ name: 'report-token', mountPath: POD_TOKEN_FOLDER, readOnly: true }] : []),
    ...spec.volumes.map(({ mountPath, subPath, readOnly }, index) => ({
      name: `volume-${index}`,
      mountPath,
      readOnly,
      ...(subPath === undefined ? {} : { subPath }),
    })),
  ];
}

function volumes({ spec, reportUrl }: JobRequest): V1Volume[] {
  return [
    { name: 'store', ...source(spec.store) },
    // The jail's Python tree and the libraries' scratch files; counts as the pod's own storage.
    { name: 'tmp', emptyDir: { sizeLimit: '2Gi' } },
    ...(reportUrl === null
      ? []
      : [
          {
            name: 'report-token',
            projected: {
              sources: [
                { serviceAccountToken: { audience: REPORT_AUDIENCE, expirationSeconds: TOKEN_SECONDS, path: 'token' } },
              ],
            },
          },
        ]),
    ...spec.volumes.map((volume, index) => ({ name: `volume-${index}`, ...source(volume) })),
  ];
}

function source({ claim, hostPath }: { claim?: string | undefined; hostPath?: string | undefined }): Partial<V1Volume> {
  return claim === undefined
    ? { hostPath: { path: hostPath ?? '', type: 'Directory' } }
    : { persistentVolumeClaim: { claimName: claim } };
}
