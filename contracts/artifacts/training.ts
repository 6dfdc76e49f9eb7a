import { z } from 'zod';
import { algorithmOptions, jobOptions, required } from '../config/training-options';

/** An adapter of the active version, with that version's number; a training may warm-start from it. */
const servedAdapterSchema = z.strictObject({
  name: z.string(),
  version: z.int().positive(),
  key: z.string(),
  sha256: z.string(),
});
type ServedAdapter = z.infer<typeof servedAdapterSchema>;

const environmentSchema = z.strictObject({ id: z.string(), path: z.string(), sha256: z.string() });

/** A train task of the agent for probes. Turn t samples with `samplingSeed + t`. */
const probeTaskSchema = z.strictObject({
  seed: z.int().nonnegative(),
  samplingSeed: z.int().nonnegative(),
  /** Whether the base model passed it with these seeds; null: the trainer has to play that as well. */
  basePassed: z.boolean().nullable(),
});
export type ProbeTask = z.infer<typeof probeTaskSchema>;

/** What probes need of the agent: its environment, how it is deployed, and its tasks in the order of their use. */
const watchedAgentSchema = z.strictObject({
  environment: environmentSchema,
  temperature: z.number(),
  maxTurns: z.int().positive(),
  maxCompletionTokens: z.int().positive(),
  successReward: z.number(),
  /** Tasks that call for the capability. */
  calledFor: z.array(probeTaskSchema),
  others: z.array(probeTaskSchema),
  /** Episodes of the agent. Where they earn another reward in the trainer, it cannot host the environment. */
  recorded: z.array(
    z.strictObject({
      seed: z.int().nonnegative(),
      /** Parameters of the environment's requests `step`. */
      steps: z.array(z.record(z.string(), z.unknown())),
      reward: z.number(),
    }),
  ),
});
export type WatchedAgent = z.infer<typeof watchedAgentSchema>;

/** The trainer's job file (docs/reference/protocols.md, section 6). Paths are absolute. */
export const trainingJobSchema = z.strictObject({
  jobId: z.string(),
  seed: z.int().nonnegative(),
  baseModel: z.string(),
  environments: z.array(environmentSchema).min(1),
  taskSeedStart: z.int().nonnegative(),
  outputDir: z.string(),
  isolation: z.enum(['jail', 'process']),
  jailProfile: z.string(),
  // The fields are in this order because the bytes of a job file must not change: `threads` comes first here.
  threads: jobOptions.threads.unwrap(),
  checkpointEvery: jobOptions.checkpointEvery.unwrap(),
  algorithm: z.strictObject(required(algorithmOptions)),
  sampler: z.enum(['engine', 'vllm', 'managed']),
  samplerUrl: z.string().optional(),
  /** Absent: the model's own length. */
  maxModelLength: z.int().positive().optional(),
  /** The adapter of a warm start, with a copy of its files at `path`. Absent: the training begins from zero. */
  beginsFrom: servedAdapterSchema.extend({ path: z.string() }).optional(),
  /**
   * The base model's reward in the environment's calibration: the mean over `tasks` with its error. The trainer
   * compares its first rewards with it. The mean of n rollouts of a task has the variance `betweenTasks + withinTask /
   * n`. Absent: the trainer compares nothing.
   */
  calibratedReward: z
    .strictObject({
      mean: z.number(),
      tasks: z.int().positive(),
      standardError: z.number().nonnegative(),
      betweenTasks: z.number().nonnegative(),
      withinTask: z.number().nonnegative(),
    })
    .optional(),
  watch: watchedAgentSchema.optional(),
  /** Why nothing is watched, as a sentence. */
  unwatched: z.string().optional(),
});
export type TrainingJob = z.infer<typeof trainingJobSchema>;

/**
 * The job file of a trial: a training's job file, with a list of required parts. A trainer that does not know trials
 * refuses it and names the versions that do not match.
 */
export const trialJobSchema = trainingJobSchema.extend({
  trial: z.strictObject({
    /** GPUs that torch must see; with 0 the trainer does not load torch. */
    gpus: z.int().nonnegative(),
    /** Files of the base model; the small ones with their hash. Empty where the worker does not see it. */
    modelFiles: z.array(z.strictObject({ name: z.string(), bytes: z.number(), sha256: z.string().nullable() })),
  }),
});
export type TrialJob = z.infer<typeof trialJobSchema>;

/** The file that a trial writes last: the trainer's findings at its place. */
export const trialManifestSchema = z.object({
  jobId: z.string(),
  trainerVersion: z.string(),
  pythonVersion: z.string(),
  /** Versions of the libraries that a training imports. */
  packages: z.record(z.string(), z.string()),
  /** CUDA or ROCm that torch was built for; null when no GPU was asked for. */
  platformVersion: z.string().nullable(),
  devices: z.array(z.object({ name: z.string(), memoryBytes: z.number(), capability: z.string() })),
  /** Files of the base model that were compared. */
  modelFiles: z.int(),
  /** Whether every layer of the jail was tried and held. */
  jail: z.boolean(),
  seconds: z.number(),
});
export type TrialManifest = z.infer<typeof trialManifestSchema>;

/**
 * Difference between the log-probabilities of sampler and trainer, in nats a token: mean, maximum, and the share of
 * rollouts that the correction removes from the update. Absent: the engine samples.
 */
const samplerMismatchSchema = z.object({ mean: z.number(), max: z.number(), clipped: z.number() });

/** Tasks of a probe, each played by adapter and base model with the same sampling seed. */
const probePairsSchema = z.strictObject({
  rollouts: z.int().describe('Tasks that the adapter played.'),
  passed: z.int().describe('Of these, the adapter passed so many.'),
  basePassed: z.int().describe('The base model passed so many of the same.'),
  lost: z.int().describe('The base model passed them, and the adapter did not.'),
});
export type ProbePairs = z.infer<typeof probePairsSchema>;

/** The probes of a training on the agent's own train tasks, and what followed from them. */
export const trainingWatchSchema = z.strictObject({
  margin: z.number().describe('Loss of the other tasks that stops a training.'),
  tasks: z
    .strictObject({
      calledFor: z.int().describe('Those that call for the capability.'),
      others: z.int().describe('Those that do not.'),
    })
    .describe('Train tasks for probes.'),
  probes: z
    .array(
      z.strictObject({
        iteration: z.int().describe('Iteration before it.'),
        reward: z.number().describe('Mean reward of the training since the probe before.'),
        calledFor: probePairsSchema.describe('Tasks that call for the capability.'),
        others: probePairsSchema.describe('Other tasks; the checks after a loss are included.'),
      }),
    )
    .describe('In their order.'),
  ended: z
    .strictObject({
      iteration: z.int().describe('The last one that was trained.'),
      why: z.enum(['loss', 'no-gain']).describe('The other tasks lost too much, or the target stopped gaining.'),
    })
    .nullable()
    .describe('null: all iterations were trained.'),
  kept: z.int().describe('Iteration whose adapter is the result; 0: none, since base is better than each.'),
  rollouts: z.int().describe('Rollouts of the probes; those of the training are apart.'),
  completionTokens: z.int().describe('Tokens that these generated.'),
  seconds: z.number().describe('Time of the probes.'),
});
export type TrainingWatch = z.infer<typeof trainingWatchSchema>;

/** A line of progress.jsonl. */
export const trainingProgressSchema = z.object({
  iteration: z.int(),
  iterations: z.int(),
  reward: z.number(),
  rewardStd: z.number(),
  loss: z.number(),
  kl: z.number(),
  gradNorm: z.number(),
  completionTokens: z.int(),
  // Figures of the iteration's rollouts (docs/explanations/training.md).
  meanTokens: z.number(),
  maxTokens: z.number(),
  meanTurns: z.number(),
  truncatedShare: z.number(),
  raisedShare: z.number(),
  failedCallShare: z.number(),
  /** Different sequences of calls among the rollouts of a task, as a share of these. Absent: an older trainer. */
  callVariety: z.number().optional(),
  /** Share of the rollouts from which the update could learn: with others of their task that earned otherwise. */
  taughtShare: z.number().optional(),
  clippedShare: z.number().optional(),
  entropy: z.number().optional(),
  /** Groups that were drawn in place of others; absent without `resampleGroups`. */
  resampledGroups: z.int().optional(),
  /** The probe after this iteration; absent where there was none. */
  probe: z.object({ calledFor: probePairsSchema, others: probePairsSchema }).optional(),
  secondsGeneration: z.number(),
  secondsUpdate: z.number(),
  secondsElapsed: z.number(),
  samplerMismatch: samplerMismatchSchema.optional(),
});
export type TrainingProgress = z.infer<typeof trainingProgressSchema>;

/**
 * The body that a trainer posts to the report endpoint after an iteration (docs/guides/kubernetes.md). A report is only
 * news: progress.jsonl is authoritative.
 */
export const trainingReportSchema = z.strictObject({
  /** Grows with every report of a token, so that a report counts once. */
  sequence: z.int().nonnegative(),
  iteration: z.int().positive(),
  iterations: z.int().positive(),
  reward: z.number(),
  kl: z.number(),
  completionTokens: z.int().nonnegative(),
  secondsLeft: z.number().nonnegative().nullable(),
});
export type TrainingReport = z.infer<typeof trainingReportSchema>;

/**
 * failure.json: how a training ended while the others on its trainer continue. The code is the exit code that a
 * separate trainer would have had.
 */
export const trainingFailureSchema = z.object({ code: z.int(), message: z.string() });
export type TrainingFailure = z.infer<typeof trainingFailureSchema>;

/** The file that the trainer writes last: if it exists, the job is done. */
export const trainingManifestSchema = z.object({
  jobId: z.string(),
  jobSha256: z.string(),
  baseModelSha256: z.string(),
  trainerVersion: z.string(),
  adapterSha256: z.string(),
  adapterDir: z.string(),
  iterations: z.int(),
  rollouts: z.int(),
  seconds: z.object({ total: z.number(), generation: z.number(), update: z.number(), startup: z.number() }),
  completionTokens: z.int(),
  curve: z.array(
    z.object({
      iteration: z.number(),
      reward: z.number(),
      kl: z.number(),
      loss: z.number(),
      samplerMismatch: samplerMismatchSchema.optional(),
    }),
  ),
  finalReward: z.number(),
  /** Absent where there was no probe. */
  watch: trainingWatchSchema.optional(),
  /** Why nothing was watched, or no longer, as a sentence. Absent: it was, or no watch was asked for. */
  unwatched: z.string().optional(),
  /** Why the adapter is the base model, or the adapter that the training began from. Absent: it learned something. */
  nothingLearned: z.string().optional(),
  /** The one reward above 0 and below 1 that every rollout of the last iterations earned. Absent: there is none. */
  partialReward: z.number().optional(),
  environmentSha256: z.array(z.string()),
  /** The adapter that the training began from; absent: it began from zero. */
  beginsFrom: servedAdapterSchema.optional(),
  /**
   * A sentence: why the trainer could not use the adapter that the job names. Absent: it used the adapter, or the job
   * names none.
   */
  whyFromZero: z.string().optional(),
});
export type TrainingManifest = z.infer<typeof trainingManifestSchema>;

/** A trained adapter: its directory in the store is named by its hash and never changes. */
export interface TrainedAdapter {
  /** Served name: `<capability>@<first 12 hex of the hash>`. */
  name: string;
  capabilityId: string;
  sha256: string;
  /** Directory relative to the store's root. */
  key: string;
  manifest: import('./artifact-ref').ArtifactRef;
  rollouts: number;
  seconds: number;
  finalReward: number;
  /** A clause about what the probes decided; absent: there were none, or the last iteration is kept as usual. */
  watched?: string;
  /**
   * The earlier run that trained it; absent: this run trained it. `rollouts` and `seconds` count the work of the
   * earlier run.
   */
  reusedFrom?: string;
  /** The served adapter that its training began from; absent: it began from zero. */
  beginsFrom?: Pick<ServedAdapter, 'name' | 'version'>;
}

/**
 * The current state of a training, as one of a closed set, with a sentence. `Training` and `Finished` are good; the
 * others are reasons of a wait or of a failure.
 */
export type TrainingReasonKind =
  | 'Queued'
  | 'Unschedulable'
  | 'ImagePull'
  | 'ConfigError'
  | 'Starting'
  | 'Training'
  | 'Stalled'
  | 'Preempted'
  | 'NodeLost'
  | 'GpuFault'
  | 'GpuOutOfMemory'
  | 'OOMKilled'
  | 'DiskFull'
  | 'DiskLimit'
  | 'Deadline'
  | 'CodeError'
  | 'Unreachable'
  | 'Finished';

/** A reason as heartbeats carry it. */
export interface TrainingReason {
  kind: TrainingReasonKind;
  /** At most one sentence, if possible in the cluster's own words. */
  message: string;
  /** Start of this state, in milliseconds since 1970. */
  sinceMs: number;
}
