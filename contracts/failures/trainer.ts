import type { RunFailure } from './run-failure';

/** The failures of a training. */
export const TRAINER_FAILURES = {
  'Trainer.JobInvalid': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The trainer refused its job file.',
    remedy: 'Correct the training section of agent.yaml as the message says.',
  },
  'Trainer.EnvironmentFailed': {
    retryable: false,
    curedBy: 'owner',
    meaning: 'The training environment failed inside the trainer.',
    remedy:
      'Read the last lines of the trainer log in the message. `whet env edit RUN CAPABILITY` corrects the ' +
      'environment and trains in the new one. If the cause was another, such as a missing layer of the jail, ' +
      '`whet retry RUN CAPABILITY` continues from the last checkpoint. `whet skip RUN CAPABILITY` leaves it out.',
  },
  'Trainer.EnvironmentDiffers': {
    retryable: false,
    curedBy: 'owner',
    meaning: "The first rewards of a training are not those of its environment's calibration.",
    remedy:
      'The message has both means. `whet env edit RUN CAPABILITY` corrects the environment and trains in it; ' +
      '`whet skip RUN CAPABILITY` leaves it out. If the environment is right, compare how trainer and server read ' +
      'the model (chat template, parsers, lengths). If `training.rewardCollapse` is zero, a new run skips this check.',
  },
  'Trainer.SamplerRefused': {
    retryable: false,
    curedBy: 'owner',
    meaning: 'The server that the trainer samples from lacks something, or answers wrongly.',
    remedy:
      'Start it with the flag or variable that the message names, or correct training.samplerUrl; then whet retry.',
  },
  'Trainer.Diverged': {
    retryable: false,
    curedBy: 'owner',
    meaning: 'Training stopped: a value became NaN, or the reward collapsed.',
    remedy: 'Lower training.learningRate or raise training.klBeta.',
  },
  'Trainer.NothingLearned': {
    retryable: false,
    curedBy: 'owner',
    meaning: 'The adapter of a training is the one that it began with, or the base model; it is not evaluated.',
    remedy:
      'The message says why. `whet env edit RUN CAPABILITY` corrects the environment and trains in it; other options ' +
      'of training need a new run; `whet skip RUN CAPABILITY` leaves it out.',
  },
  'Trainer.PartialReward': {
    retryable: false,
    curedBy: 'owner',
    meaning: 'At the end of a training every rollout earned the same partial reward; the adapter is not evaluated.',
    remedy:
      '`whet env edit RUN CAPABILITY` corrects the environment and trains in it: pay less for what is safe, or more ' +
      'on the way to a success; other options of training need a new run; `whet skip RUN CAPABILITY` leaves it out.',
  },
  'Trainer.Harmful': {
    retryable: false,
    curedBy: 'owner',
    meaning:
      "Probes on the agent's own tasks found each checkpoint of a training worse than the base model; none is kept.",
    remedy:
      'The message has the figures. `whet env edit RUN CAPABILITY` corrects the environment and trains in it; ' +
      '`whet skip RUN CAPABILITY` leaves the capability out. A new run with `training.probeEvery` at zero has none.',
  },
  'Trainer.Died': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The trainer process ended without a manifest.',
    remedy:
      'Nothing: it is started again from its last checkpoint. After ten ends without a new checkpoint in between the ' +
      'capability waits with Trainer.Failed.',
  },
  'Trainer.Failed': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The trainer ended with an error in the program, or kept ending before it reached another checkpoint.',
    remedy:
      'Read the last lines in the message and the log in its directory; ' +
      '`whet retry RUN CAPABILITY` continues from the last checkpoint.',
  },
  'Trainer.OutOfMemory': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The trainer needed more memory than its Job may use and was killed.',
    remedy:
      'Raise training.kubernetes.resources.memory, then `whet retry RUN --spec agent.yaml`; ' +
      'or lower training.groups and start a new run.',
  },
  'Trainer.GpuOutOfMemory': {
    retryable: false,
    curedBy: 'owner',
    meaning: 'The memory of the GPU was too small for the training.',
    remedy:
      'Lower training.groups, training.rolloutsPerGroup or training.updateTokens and start a new run, or give it a ' +
      'larger or an empty GPU; then `whet retry RUN CAPABILITY` continues from the last checkpoint.',
  },
  'Trainer.DiskFull': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The disk of the training directory is full; the last checkpoint is whole.',
    remedy: 'Make room on the disk that the message names. The training is then started again by itself.',
  },
  'Trainer.DiskLimit': {
    retryable: false,
    curedBy: 'cluster',
    meaning: 'The pod of the trainer used more local disk than it may and was evicted.',
    remedy:
      'The message has the limit: that of /tmp is fixed; others come from the namespace (`kubectl get limitrange`). ' +
      'Raise those, or let the environment write less; `whet retry RUN CAPABILITY` continues from the last checkpoint.',
  },
  'Trainer.Stalled': {
    retryable: false,
    curedBy: 'cluster',
    meaning: 'The trainer ran without finishing an iteration, and so did those that replaced it.',
    remedy:
      'Look at the log that the message names, and at the node: `kubectl describe node NODE` (GPU, disk, network ' +
      'file system). If its iterations are slow for a good reason, raise limits.stalledMinutes or ' +
      'limits.startMinutes under training.kubernetes. `whet retry RUN CAPABILITY`, with `--spec agent.yaml` after ' +
      'a change, continues from the last checkpoint; `whet skip RUN CAPABILITY` leaves it out.',
  },
  'Trainer.Disrupted': {
    retryable: false,
    curedBy: 'cluster',
    meaning: 'The Job was preempted, evicted or lost its node more often than allowed.',
    remedy: 'Give it a priority class or other nodes; `whet retry RUN CAPABILITY` continues from the last checkpoint.',
  },
  'Trainer.Deadline': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The training took longer than its deadline.',
    remedy:
      'Raise training.kubernetes.deadlineMinutes or limits.trainingMinutes; ' +
      '`whet retry RUN CAPABILITY` continues from the last checkpoint.',
  },
  'Trainer.NotPlaced': {
    retryable: false,
    curedBy: 'cluster',
    meaning: 'The Job waited for admission or for a node longer than training.kubernetes.limits.queuedMinutes.',
    remedy: 'Read the scheduler or queue message; make room, then `whet retry RUN CAPABILITY`.',
  },
  'Trainer.CannotStart': {
    retryable: false,
    curedBy: 'cluster',
    meaning:
      'A trainer could not be started, or lacks something where it runs: its image, a volume, a GPU, the base model, ' +
      'the jail, or its configuration.',
    remedy:
      'Correct what the message names (image, pull secret, volume, service account, GPUs). Then `whet retry RUN`, or ' +
      '`whet retry RUN --spec agent.yaml` after a change of training.kubernetes.',
  },
  'Trainer.ClusterRefused': {
    retryable: false,
    curedBy: 'cluster',
    meaning: 'The Kubernetes API refused the Job or the worker.',
    remedy:
      'Correct what the message names: ' +
      'usually a right of the worker, the namespace, or a field of training.kubernetes.',
  },
} as const satisfies Record<string, RunFailure>;
