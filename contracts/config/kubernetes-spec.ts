import { z } from 'zod';
import { count, countOrNone, positive } from './numbers';

const dnsLabel = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'lower-case letters, digits and dashes, at most 63 characters');
const absolute = z.string().regex(/^\/(?!.*(^|\/)\.\.(\/|$))/, 'an absolute path without ..');
/** Kubernetes' notation of quantities, as used for CPU and memory. */
const quantity = z.string().regex(/^\d+(\.\d+)?(m|[KMGT]i?)?$/, 'a quantity such as 500m, 2, 8Gi');

/** A folder that pods see: a claim of the namespace, or a folder of the node. */
const volumeSchema = z
  .strictObject({
    claim: dnsLabel.optional().describe('Name of a PersistentVolumeClaim.'),
    hostPath: absolute.optional().describe('Folder of the node, for clusters of one node.'),
    subPath: z.string().optional().describe('Folder inside the claim.'),
    mountPath: absolute.describe('Where pods see it.'),
    readOnly: z.boolean().default(true).describe('Pods cannot write there.'),
  })
  .refine(({ claim, hostPath }) => (claim === undefined) !== (hostPath === undefined), {
    error: 'either claim or hostPath',
    path: ['claim'],
  });

/** How a training run becomes a Job (docs/guides/kubernetes.md). */
export const kubernetesSpecSchema = z.strictObject({
  namespace: dnsLabel.default('whetstone').describe('Of the Jobs.'),
  image: z.string().min(1).describe('Trainer image; a digest pins it.'),
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent', 'Never'])
    .default('IfNotPresent')
    .describe('When nodes pull the image.'),
  imagePullSecrets: z.array(dnsLabel).default([]).describe('Secrets of the namespace for the registry of the image.'),
  serviceAccount: dnsLabel
    .default('default')
    .describe('Of the pods. Its token is not mounted; reports carry one of another audience.'),
  store: z
    .strictObject({
      claim: dnsLabel
        .optional()
        .describe('PersistentVolumeClaim that holds the artifact store, the same that the workers mount.'),
      hostPath: absolute.optional().describe('The store as folder of the node, for clusters of one node.'),
      subPath: z.string().optional().describe('Folder inside the claim.'),
    })
    .refine(({ claim, hostPath }) => (claim === undefined) !== (hostPath === undefined), {
      error: 'either claim or hostPath',
      path: ['claim'],
    })
    .describe('Mounted where the worker has its store, so that paths mean the same on both sides.'),
  volumes: z.array(volumeSchema).default([]).describe('More folders, e.g. the base model where the worker has it.'),
  resources: z
    .strictObject({
      cpu: quantity.default('2').describe('Processors of a trainer.'),
      cpuLimit: quantity.optional().describe('Processors that it never exceeds. Absent: it may use idle ones.'),
      memory: quantity.default('8Gi').describe('Also the limit: a trainer above it is killed.'),
      gpus: z
        .int()
        .min(0)
        .max(1, 'must be 0 or 1: a trainer uses one GPU, and the others would be paid for and idle')
        .default(1)
        .describe('0 or 1: a trainer uses one GPU.'),
      gpuResource: z.string().default('nvidia.com/gpu').describe("The cluster's name of a GPU."),
    })
    .prefault({}),
  nodeSelector: z.record(z.string(), z.string()).default({}).describe('Labels that a node must have.'),
  tolerations: z
    .array(
      z.strictObject({
        key: z.string().optional().describe('Key of the taint. Absent: all of them.'),
        operator: z.enum(['Equal', 'Exists']).default('Equal').describe('Whether the value has to be equal.'),
        value: z.string().optional().describe('Value of the taint.'),
        effect: z
          .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
          .optional()
          .describe('Effect of the taint. Absent: all effects.'),
        tolerationSeconds: count
          .optional()
          .describe('How long a pod stays on a node with NoExecute. Absent: for good.'),
      }),
    )
    .default([])
    .describe('Taints of nodes that pods may run on.'),
  priorityClass: dnsLabel.optional().describe('PriorityClass of the pods.'),
  runtimeClass: dnsLabel.optional().describe('For example gvisor.'),
  queue: dnsLabel.optional().describe("Kueue's LocalQueue: the Job is created suspended and Kueue starts it."),
  seccomp: z
    .union([
      z.literal('RuntimeDefault'),
      z
        .string()
        .regex(/^localhost\/(?!.*\.\.)[\w./-]+$/, "RuntimeDefault or localhost/<file in the kubelet's seccomp folder>"),
    ])
    .default('RuntimeDefault')
    .describe(
      "The jail needs user namespaces, which most runtimes' default profile refuses; " +
        'k8s/seccomp/whetstone-trainer.json allows them.',
    ),
  appArmor: z
    .union([
      z.enum(['RuntimeDefault', 'Unconfined']),
      z
        .string()
        .regex(
          /^localhost\/(?!.*\.\.)[\w./-]+$/,
          'RuntimeDefault, Unconfined or localhost/<profile loaded on the node>',
        ),
    ])
    .optional()
    .describe(
      "Without it the cluster decides. containerd's default AppArmor profile denies mount, of which the " +
        "jail's tree is made.",
    ),
  runAsUser: z
    .int()
    .min(1)
    .default(10_001)
    .describe('User and group of the pods; a worker that is not root uses its own.'),
  deadlineMinutes: count.default(24 * 60).describe('Of one Job, from its start; Kubernetes enforces it.'),
  ttlMinutes: count
    .default(60)
    .describe('A finished Job is removed after this time; log, events and outcome are in the store by then.'),
  graceSeconds: count.default(30).describe('From SIGTERM, at which the trainer saves a checkpoint, to SIGKILL.'),
  backoffLimit: countOrNone
    .default(3)
    .describe('Failures of pods that Kubernetes repeats by itself, disruptions not counted.'),
  limits: z
    .strictObject({
      queuedMinutes: positive
        .optional()
        .describe('Waiting for admission or a node. Absent: as long as it takes, with the reason shown.'),
      imageMinutes: positive.default(10).describe('Errors of pulling the image or of mounting and configuring.'),
      startMinutes: positive.default(15).describe('From the start of the container to the first iteration.'),
      stalledMinutes: positive
        .default(10)
        .describe('Without an iteration, or ten times the median iteration where that is more.'),
      trainingMinutes: positive.optional().describe('From the first iteration of the run.'),
      stalls: countOrNone.default(2).describe('Stalled pods that are replaced before training is given up.'),
      disruptions: countOrNone.default(50).describe('Preemptions, evictions and lost nodes that are resumed from.'),
    })
    .prefault({}),
});
export type KubernetesSpec = z.infer<typeof kubernetesSpecSchema>;
