import { posix } from 'node:path';
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
import { projectVersion } from '../contracts/project-version';
import { FATAL_EXIT_CODES, TRAINER_EXIT_CODES } from './exit-codes';
import { jobFilePath, type GroupMember } from './group-member';
import { ANNOTATIONS, CONTAINER, LABELS, labelValue, MANAGER, memberLabel, REPORT_AUDIENCE } from './names';
import { POD_TOKEN_FOLDER, reportVariables } from './report-variables';

/** The inputs of one trainer's Job. */
export interface JobRequest {
  spec: KubernetesSpec;
  /** Name of the Job: `jobName` of its training, or `packName`. */
  name: string;
  runId: string;
  agent: string;
  /** Number of members if the Job is for a pack; null: the Job is for one training. */
  pack: number | null;
  /**
   * Key of the trainer group's directory in the store: for a single training its own directory, else the pack's folder.
   */
  directoryKey: string;
  /**
   * The trainings to run, in the order of the arguments. It does not contain members of a pack that are done or have
   * left.
   */
  members: readonly GroupMember[];
  /**
   * Absolute path of the store's root. Only the members' directories are mounted from its volume, at the same paths.
   */
  storeRoot: string;
  /** Absolute path of the base model. It is mounted read-only if it is in the store. */
  baseModel: string;
  /** CPU threads of the trainer. */
  threads: number;
  /** User and group of the pod. */
  user: { uid: number; gid: number };
  /** Base address of the report endpoint for pods; null: the trainer sends no reports. */
  reportUrl: string | null;
}

/** Lifetime of a report token, the shortest that the API server allows. The kubelet renews it in time. */
const TOKEN_SECONDS = 600;

/**
 * Builds the Job of a training or of a pack; the result depends only on the request. A Job's pod template cannot be
 * changed later. So a worker that finds the Job attaches to it and never applies it again. This also leaves `suspend`
 * to Kueue.
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
      // Kueue's webhook would set it, too. Since it is set here, the Job also waits if the webhook is down.
      ...(spec.queue === undefined ? {} : { suspend: true }),
      backoffLimit: spec.backoffLimit,
      activeDeadlineSeconds: spec.deadlineMinutes * 60,
      ttlSecondsAfterFinished: spec.ttlMinutes * 60,
      // The next pod waits until the previous one has ended, because both write to the same directory.
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
      // Controllers set ConfigIssue on pods that can never start; Kubernetes itself leaves such pods pending.
      { action: 'FailJob', onPodConditions: [{ type: 'ConfigIssue', status: 'True' }] },
      {
        action: 'Ignore',
        onExitCodes: { containerName: CONTAINER, operator: 'In', values: [TRAINER_EXIT_CODES.stopped] },
      },
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
      // Claims become writable for this group; hostPath folders keep their owner.
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
 * The part of a pod's security context with the AppArmor profile; empty if none was requested.
 * @param profile `RuntimeDefault`, `Unconfined` or `localhost/<name>`.
 */
function appArmorProfile(profile: string | undefined): Pick<V1PodSecurityContext, 'appArmorProfile'> {
  if (profile === undefined) return {};
  const local = profile.startsWith('localhost/') ? profile.slice('localhost/'.length) : null;
  return { appArmorProfile: local === null ? { type: profile } : { type: 'Localhost', localhostProfile: local } };
}

function container(request: JobRequest): V1Container {
  const { spec, members, threads, reportUrl } = request;
  const { cpu, cpuLimit, memory, gpus, gpuResource } = spec.resources;
  const gpu = gpus === 0 ? {} : { [gpuResource]: String(gpus) };
  const reports = reportUrl === null ? {} : reportVariables(reportUrl, members);
  return {
    name: CONTAINER,
    image: spec.image,
    imagePullPolicy: spec.imagePullPolicy,
    args: members.flatMap(({ directory }) => ['--job', jobFilePath(directory)]),
    env: [
      { name: 'OMP_NUM_THREADS', value: String(threads) },
      // With it, a trainer image of another version can say which version this worker needs.
      { name: 'WHET_WORKER_VERSION', value: projectVersion() },
      // The token for the directory's fence file. A pod's uid is unique.
      { name: 'WHET_FENCE', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      ...Object.entries(reports).map(([name, value]) => ({ name, value })),
    ],
    // Without cpuLimit the container may use more CPU than it requests, but not more memory. Requests and limits of
    // GPUs must be equal.
    resources: {
      requests: { cpu, memory, ...gpu },
      limits: { ...(cpuLimit !== undefined && { cpu: cpuLimit }), memory, ...gpu },
    },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    // The pod's status keeps the end of the log, so that a reason can quote it without asking the node.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: mounts(request),
  };
}

/**
 * A trainer only sees the parts of the store that it needs: the directories of its trainings, and the base model. The
 * store also contains other runs, other agents, the registry, traces and the redaction secret.
 */
function mounts({ spec, members, storeRoot, baseModel, reportUrl }: JobRequest): V1VolumeMount[] {
  const fromStore = (key: string, readOnly: boolean): V1VolumeMount => ({
    name: 'store',
    mountPath: posix.join(storeRoot, key),
    subPath: posix.join(spec.store.subPath ?? '', key),
    ...(readOnly ? { readOnly } : {}),
  });
  const modelKey = posix.relative(storeRoot, baseModel);
  const isModelInStore = modelKey !== '' && !modelKey.startsWith('..');
  return [
    ...members.map(({ directoryKey }) => fromStore(directoryKey, false)),
    ...(isModelInStore ? [fromStore(modelKey, true)] : []),
    { name: 'tmp', mountPath: '/tmp' },
    { name: 'shared-memory', mountPath: '/dev/shm' },
    ...(reportUrl !== null ? [{ name: 'report-token', mountPath: POD_TOKEN_FOLDER, readOnly: true }] : []),
    ...spec.volumes.map((volume) => ({
      name: volumeName(spec, volume),
      mountPath: volume.mountPath,
      readOnly: volume.readOnly,
      ...(volume.subPath === undefined ? {} : { subPath: volume.subPath }),
    })),
  ];
}

type Source = Pick<KubernetesSpec['store'], 'claim' | 'hostPath'>;

/** The pod's volume for a claim or folder. Named twice, it is one volume: some drivers attach no claim twice. */
function volumeName({ store, volumes }: KubernetesSpec, wanted: Source): string {
  const isWanted = ({ claim, hostPath }: Source) => claim === wanted.claim && hostPath === wanted.hostPath;
  return isWanted(store) ? 'store' : `volume-${volumes.findIndex(isWanted)}`;
}

function volumes({ spec, reportUrl }: JobRequest): V1Volume[] {
  return [
    { name: 'store', ...source(spec.store) },
    // For the jail's Python tree and the libraries' temporary files; it counts as the pod's ephemeral storage.
    { name: 'tmp', emptyDir: { sizeLimit: '2Gi' } },
    // A container's own has 64 MiB, too little for the processes of a vLLM. Counts against the memory limit.
    { name: 'shared-memory', emptyDir: { medium: 'Memory' } },
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
    ...spec.volumes
      .map((volume) => ({ name: volumeName(spec, volume), ...source(volume) }))
      .filter(({ name }, index) => name === `volume-${index}`),
  ];
}

function source({ claim, hostPath }: Source): Partial<V1Volume> {
  return claim === undefined
    ? { hostPath: { path: hostPath ?? '', type: 'Directory' } }
    : { persistentVolumeClaim: { claimName: claim } };
}
