/** Names that workflows, workers and clients share. Imports nothing: workflow code may import it at run time. */

/** Task queues, one per kind of resource. */
export const TASK_QUEUES = {
  orchestration: 'whet-orchestration',
  llm: 'whet-llm',
  sandbox: 'whet-sandbox',
  jobs: 'whet-jobs',
} as const;
export type QueueKind = keyof typeof TASK_QUEUES;

/** Custom search attributes (Keyword each) that the Temporal namespace must have. */
export const SEARCH_ATTRIBUTES = { agent: 'WhetAgent', stage: 'WhetStage', verdict: 'WhetVerdict' } as const;

/** Stages of a run in the order of the paper. */
export const STAGES = ['collect', 'identify', 'sharpen', 'evaluate', 'promote', 'report'] as const;
export type StageName = (typeof STAGES)[number];

/** Workflow types. */
export const WORKFLOWS = {
  improvementRun: 'improvementRun',
  identifyCapabilities: 'identifyCapabilities',
  labelChunks: 'labelChunks',
  studyStability: 'studyStability',
  sharpenCapability: 'sharpenCapability',
} as const;

/** Signals, updates and queries of `improvementRun` and `sharpenCapability`. */
export const MESSAGES = {
  progressQuery: 'progress',
  approveUpdate: 'approve',
  retrySignal: 'retry',
  skipSignal: 'skip',
  /** An environment edited by hand, for a capability that waits. */
  editSignal: 'edit',
  /** From a child to its run. */
  statusSignal: 'note',
} as const;

/** What a capability that waits offers; `whet env edit` looks for it in what the run waits for. */
export const editCommand = (runId: string, capabilityId: string): string => `whet env edit ${runId} ${capabilityId}`;

/** What a run ends with; also the value of the search attribute WhetVerdict. */
export const RUN_OUTCOMES = ['running', 'promoted', 'not-promoted', 'nothing-to-sharpen', 'failed'] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** The label that is always last in a router menu. */
export const NONE_LABEL = 'none';

/** Ids of child workflows derive from the run's. */
export const childWorkflowId = {
  identify: (runId: string) => `${runId}/identify`,
  /** One child for each labelling run. */
  labels: (runId: string, run: number) => `${runId}/labels/${run}`,
  /** One child for each identification of a study. */
  studied: (studyId: string, identification: number) => `${studyId}/${identification}`,
  sharpen: (runId: string, capabilityId: string) => `${runId}/sharpen/${capabilityId}`,
} as const;
