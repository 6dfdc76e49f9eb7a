/** The failures of a run. Imports nothing: workflow code may import it at run time. */

/**
 * Who can end a wait. `operator`: whoever runs Whetstone. `owner`: whoever owns the agent. `cluster`: whoever runs the
 * Kubernetes cluster. `nobody`: there is nothing to wait for.
 */
type CuredBy = 'operator' | 'owner' | 'cluster' | 'nobody';

interface RunFailure {
  /** False: Temporal does not try again by itself. */
  retryable: boolean;
  /**
   * Whom the run waits for when the failure is not, or no longer, tried again. `nobody`: it ends the run, as long as
   * nothing was paid that would be lost (stages prepare and collect); later the run waits for the operator.
   */
  curedBy: CuredBy;
  meaning: string;
  remedy: string;
}

/**
 * Failure types, dotted and stable, and what happens after each. A failure without one of these types, a timeout and a
 * child workflow that was terminated make the run wait for the operator. docs/reference/errors.md lists all of them.
 */
export const FAILURES = {
  'Run.Expired': {
    retryable: false,
    curedBy: 'nobody',
    meaning:
      'The run ended without its last stages: nobody answered before a deadline of agent.yaml, a failure lasted too ' +
      'long, or the next night took its place.',
    remedy:
      'Correct what the message names, then wait for the next night or use `whet run`. Labels in the cache of the ' +
      'agent are not paid for again.',
  },
  'Notify.Refused': {
    retryable: false,
    curedBy: 'nobody',
    meaning: 'The webhook may not be used, or its server refused the notice.',
    remedy:
      'Name its server in WHET_WEBHOOK_ENDPOINTS of the worker, or correct notify.webhook. The run is not held up.',
  },
  'Notify.Unreachable': {
    retryable: true,
    curedBy: 'nobody',
    meaning: 'The server of the webhook did not answer, or answered that it cannot take the notice now.',
    remedy: 'Nothing: the notice is posted again for some hours. The run is not held up.',
  },
  'Spec.Invalid': {
    retryable: false,
    curedBy: 'nobody',
    meaning: 'agent.yaml has an unknown or wrong field.',
    remedy: 'Correct the field named in the message; `whet validate` checks without starting anything.',
  },
  'Collect.TooFewToContrast': {
    retryable: false,
    curedBy: 'nobody',
    meaning:
      'Fewer successes or fewer failures than identify.minEachOutcome were collected, so they cannot be contrasted.',
    remedy:
      'Raise environment.trainSeeds.count or collect.trials, ' +
      'or check that the agent can solve some tasks and fails others.',
  },
  'Model.Unreachable': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The model server did not answer.',
    remedy: 'Start it (`whet up`) or correct model.baseUrl.',
  },
  'Model.Refused': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The model server does not serve the model, is not at this address, or refuses most conversations.',
    remedy: "Correct what the message names, with the server's words; then `whet retry RUN`.",
  },
  'Model.Unauthorised': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The model server refused the API key.',
    remedy:
      'Set WHET_MODEL_API_KEY of the worker to a key that the server accepts, start the worker again, ' +
      'then `whet retry RUN`.',
  },
  'Model.Changed': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The served model, or the one in model.path, is not the model that the run began with.',
    remedy:
      'Serve the model that the message names as the first one, then `whet retry RUN`; ' +
      'or cancel the run and start a new one.',
  },
  'Model.ContextTooShort': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'Most tasks open with a prompt that is longer than the context of the model.',
    remedy:
      "Serve the model with a longer context, or shorten the environment's opening; then `whet retry RUN` " +
      'plays these tasks again.',
  },
  'Analyst.Unauthorised': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The analyst endpoint refused the API key.',
    remedy:
      'Set OPENAI_API_KEY (and OPENAI_BASE_URL) of the worker to a key that the endpoint accepts. A run that waits ' +
      'continues after `whet retry RUN`; start a study, or a run that has ended, again.',
  },
  'Analyst.BadRequest': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The analyst endpoint refused the request as invalid.',
    remedy:
      'Where the endpoint does not know the model or the form of the answer, correct analyst.model, or take one with ' +
      'structured outputs. Where it has no answer to this question, as an analyst with recorded answers, add the ' +
      'file that the message names, then `whet retry RUN CAPABILITY`; or `whet skip RUN CAPABILITY` leaves it out.',
  },
  'Analyst.RateLimited': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The analyst endpoint received too many calls.',
    remedy:
      'Nothing: the call is repeated after the time that the endpoint asked for. ' +
      'Lower analyst.concurrency if it persists.',
  },
  'Analyst.Unavailable': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The analyst endpoint failed or did not answer.',
    remedy: 'Nothing: the call is repeated with back-off. Check the endpoint if it persists.',
  },
  'Analyst.Malformed': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The answers of the analyst did not have the required form, even after it was shown the errors.',
    remedy: 'Use a model with structured outputs, or read the kept answer named in the message.',
  },
  'Analyst.BatchFailed': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The endpoint ended a batch without its answers.',
    remedy:
      'Read the message; `whet retry RUN` sends what is missing in a new batch. ' +
      'Where the endpoint has no Batch API, set analyst.mode to online.',
  },
  'Analyst.NotRecorded': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'A repair needs an answer of the analyst that is not recorded any more, and may not ask for it again.',
    remedy: 'Let it ask, which is paid again: `whet repair RUN --yes`.',
  },
  'Budget.Spent': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The next call to the analyst would exceed the budget of this run.',
    remedy: '`whet budget RUN --usd N` (or `--tokens N`) raises it, and the run continues; paid answers are kept.',
  },
  'Identify.TooManyUnlabelled': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'A larger share of the labels than identify.maxUnlabelled could not be obtained.',
    remedy: 'Read the unlabelled pairs in the labels artifact; use a stronger analyst model.',
  },
  'Identify.LabelsLost': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'Stored labels cannot be read any more. They were asked for again, and were lost again.',
    remedy: 'Look at the disk of the store; `whet retry RUN` asks for the lost labels again.',
  },
  'Study.NoTrajectories': {
    retryable: false,
    curedBy: 'nobody',
    meaning: 'There are no trajectories of the agent to study.',
    remedy: 'Let a run collect some (`whet run`), or name a run that did: `whet study stability AGENT --from RUN`.',
  },
  'Sandbox.Unavailable': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'A layer of the jail is missing, so no generated code is run.',
    remedy: 'Install bubblewrap and allow unprivileged user namespaces; the message names the layer.',
  },
  'Environment.Failed': {
    retryable: true,
    curedBy: 'owner',
    meaning: 'The target environment raised, hung or died.',
    remedy:
      'Read the traceback in the message. Where the first checks wait for it, correct the file, then ' +
      '`whet retry RUN`. Later a run keeps to the source that it began with: `whet cancel RUN`, correct the file, ' +
      'and start a new run. If the cause was outside the source, `whet retry RUN` continues; `whet retry RUN ' +
      'CAPABILITY` where a capability waits.',
  },
  'Environment.Killed': {
    retryable: true,
    curedBy: 'operator',
    meaning: "Something outside the jail kept killing the environment's process; nothing was counted against it.",
    remedy:
      'Look for what kills processes on the worker, usually a lack of memory; then `whet retry RUN CAPABILITY`. ' +
      'An environment that kills itself looks the same: `whet skip RUN CAPABILITY` leaves it out.',
  },
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
      'environment ' +
      'and trains in the new one; after another cause, such as a missing layer of the jail, ' +
      '`whet retry RUN CAPABILITY` continues from the last checkpoint; `whet skip RUN CAPABILITY` leaves it out.',
  },
  'Trainer.EnvironmentDiffers': {
    retryable: false,
    curedBy: 'owner',
    meaning: "The first rewards of a training are not those of its environment's calibration.",
    remedy:
      'The message has both means. `whet env edit RUN CAPABILITY` corrects the environment and trains in it; ' +
      '`whet skip RUN CAPABILITY` leaves it out. Where the environment is right, compare how trainer and server read ' +
      'the model (chat template, parsers, lengths). Set to zero, `training.rewardCollapse` lets a new run train.',
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
      'Look at the log that the message names, and at the node: `kubectl describe node NODE` (GPU, disk, ' +
      'network file ' +
      'system). Where its iterations are rightly slow, raise limits.stalledMinutes or limits.startMinutes under ' +
      'training.kubernetes. `whet retry RUN CAPABILITY`, with `--spec agent.yaml` after a change, continues from the ' +
      'last checkpoint; `whet skip RUN CAPABILITY` leaves it out.',
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
  'Evaluate.Unpaired': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The arms of the evaluation did not run the same tasks and trials, so they cannot be compared.',
    remedy: 'The message names the arm or the task. Report the defect; `whet retry RUN` compares again.',
  },
  'Evaluate.IncumbentDamaged': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The active version cannot be played against the candidate, because its files are damaged or gone.',
    remedy:
      '`whet repair` of the run that made it (the message names it) makes them whole. ' +
      '`whet skip RUN incumbent` compares with the base model alone.',
  },
  'Promote.CanaryRuns': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The gate is passed, but a canary runs, and promoting another version would end it without a verdict.',
    remedy:
      'Wait until it has ended, or end it with `whet canary AGENT --stop` or `whet promote AGENT VERSION`; then ' +
      '`whet retry RUN`. If another version has become active, the candidate is compared with that one first. ' +
      '`whet skip RUN promote` ends the run without a promotion.',
  },
  'Promote.AdapterMissing': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The judged router gives conversations to an adapter that would not be in the version.',
    remedy:
      'Report the defect; the message names the adapter. `whet skip RUN promote` ends the run without a promotion, ' +
      'and a new run judges and promotes again.',
  },
  'Promote.Conflict': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The registry document changed while this run was promoting.',
    remedy: 'Nothing: the change is made again on the new document.',
  },
  'Store.Corrupt': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'What the store holds is damaged: an artifact does not match its hash, or a document is torn.',
    remedy:
      'The message names the file: `whet repair RUN` makes the artifacts of a run again or says what to do; a ' +
      'document goes back to its version before. Then `whet retry RUN`.',
  },
  'Store.Missing': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'An artifact of the run is no longer in the store.',
    remedy: '`whet repair RUN` makes it again, or restore it from a backup; then `whet retry RUN`.',
  },
  'Store.Full': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The disk of the store is full, or its quota is used up.',
    remedy: 'Free space: the run continues by itself. If it waits for an answer by then, `whet retry RUN`.',
  },
  'Store.Unavailable': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The disk of the store does not work: it cannot be read or is mounted read-only.',
    remedy: 'Mend or mount it again: the run continues by itself. If it waits for an answer by then, `whet retry RUN`.',
  },
} as const satisfies Record<string, RunFailure>;
/** A type of `FAILURES`. */
export type FailureType = keyof typeof FAILURES;
