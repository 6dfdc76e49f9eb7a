/** Names that workflows, workers and clients share. Imports nothing: workflow code may import it at run time. */

/** Task queues, one per kind of resource. */
export const TASK_QUEUES = {
  orchestration: 'whet-orchestration',
  llm: 'whet-llm',
  sandbox: 'whet-sandbox',
  jobs: 'whet-jobs',
} as const;
/** Kind of a task queue. */
export type QueueKind = keyof typeof TASK_QUEUES;

/** Custom search attributes that the Temporal namespace must have, each of type Keyword. */
export const SEARCH_ATTRIBUTES = {
  agent: 'WhetAgent',
  stage: 'WhetStage',
  verdict: 'WhetVerdict',
  /** A `WaitingFor`, or empty: `WhetWaiting != ''` lists the runs that wait for somebody. */
  waiting: 'WhetWaiting',
} as const;

/**
 * The reasons why a run waits for somebody: the values of the search attribute WhetWaiting. `operator`, `owner`,
 * `cluster`: a failure that this person can cure. `approval`: the gate is passed, and the agent's owner requires an
 * approval. `repeated- failure`: it continues by itself as soon as the failing activity works.
 */
export type WaitingFor = 'operator' | 'owner' | 'cluster' | 'approval' | 'repeated-failure';

/** Stages of a run, in the order of the paper. */
export const STAGES = ['collect', 'identify', 'sharpen', 'evaluate', 'promote', 'report'] as const;
/** Name of a stage. */
export type StageName = (typeof STAGES)[number];

/** Stages after which a run may be told to end (`whet run --until`). */
export const RUN_ENDS = ['identify'] as const satisfies readonly StageName[];
/** Stage after which a run ends, with a report and without a training. */
export type RunEnd = (typeof RUN_ENDS)[number];

/** Why such a run has trained nothing, for people. */
export const ENDED_AFTER_IDENTIFY =
  'The run was to end after identification (--until identify), so nothing was trained, evaluated or promoted.';

/** Workflow types. */
export const WORKFLOWS = {
  improvementRun: 'improvementRun',
  identifyCapabilities: 'identifyCapabilities',
  labelChunks: 'labelChunks',
  studyStability: 'studyStability',
  sharpenCapability: 'sharpenCapability',
  repairArtifacts: 'repairArtifacts',
  deliverNotice: 'deliverNotice',
} as const;

/** Name of an agent's schedule in Temporal. */
export const scheduleIdOf = (agent: string): string => `whet-${agent}`;

/** Signals, updates and queries of `improvementRun` and `sharpenCapability`. */
export const MESSAGES = {
  progressQuery: 'progress',
  approveUpdate: 'approve',
  retrySignal: 'retry',
  skipSignal: 'skip',
  /** Answers a wait and returns it; refuses an answer that nothing waits for. */
  answerUpdate: 'answer',
  /** An environment that a person edited for a waiting capability. */
  editSignal: 'edit',
  /** From a child workflow or an activity to its run: its current work, or why it waits. */
  statusSignal: 'note',
  /** From a worker to the run: an activity keeps failing, or has recovered. */
  failingSignal: 'failing',
  /** From the next night to a run that waits: it should end, so that no work is done twice. */
  giveWaySignal: 'giveWay',
} as const;

/** The command in the wait of a capability. `whet env edit` looks for it in the text of the run's wait. */
export const editCommand = (runId: string, capabilityId: string): string => `whet env edit ${runId} ${capabilityId}`;

/** The same command with a file in the working directory; `whet env edit` or a person writes this file. */
export const giveCommand = (runId: string, capabilityId: string): string =>
  `${editCommand(runId, capabilityId)} ${capabilityId}.py`;

/**
 * The outcomes of a run, and `running` until it ends. They are also the values of the search attribute WhetVerdict.
 * `expired`: nobody answered before a deadline, or the next night replaced the run. `skipped`: the previous night was
 * still at work.
 */
export const RUN_OUTCOMES = [
  'running',
  'promoted',
  'not-promoted',
  'nothing-to-sharpen',
  /** Capabilities were kept, but none got an adapter. */
  'nothing-trained',
  /** The run was to end after identification, and did. */
  'diagnosed',
  /** A night measured the served version and found no reason to work on. */
  'nothing-new',
  /** Like `nothing-new`, but the night had too few tasks to rule out that a capability is lacking. */
  'too-little-power',
  'expired',
  'skipped',
  'failed',
  'cancelled',
] as const;
/** Outcome of a run. */
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** The label that is always last in the router's menu: no adapter. */
export const NONE_LABEL = 'none';

/** The mixed adapter, trained on all environments, has this name instead of a capability's. */
export const MIXED = 'mixed';

/** The trial of a run's trainers has this name instead of a stage's or a capability's. */
export const TRIAL = 'trial';

/** Id of the workflow that repairs a run. Only one may exist at a time. */
export const repairWorkflowId = (runId: string): string => `${runId}/repair`;

/** Ids of child workflows, derived from the id of their parent. */
export const childWorkflowId = {
  identify: (runId: string) => `${runId}/identify`,
  /** The identification of a night, which examines the served version. */
  identifyServed: (runId: string) => `${runId}/identify-served`,
  /** One child per labelling run. */
  labels: (runId: string, run: number) => `${runId}/labels/${run}`,
  /** The same for the identification of a night. */
  labelsServed: (runId: string, run: number) => `${runId}/labels-served/${run}`,
  /** One child per identification of a study. */
  studied: (studyId: string, identification: number) => `${studyId}/${identification}`,
  sharpen: (runId: string, capabilityId: string) => `${runId}/sharpen/${capabilityId}`,
  /** One child for each notice; receivers recognise a repeated notice by this id. */
  notice: (runId: string, notice: number) => `${runId}/notice/${notice}`,
} as const;
