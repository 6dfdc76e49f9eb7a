/** The facts about an activity whose artifacts can be made again. */
export interface Repeatable {
  /** The requirements for executing it again, for people. */
  takes: string;
  /** Why its result may differ from the original. */
  differs: string;
  /** Names of the run's work files with the answers that were paid for. Absent: it does not ask the analyst. */
  answers?: (input: never) => string;
  /** Whether its new artifacts are useful even if they differ. */
  keepsOther?: boolean;
  /** Whether it plays the agent's own environment, which may not give the same bytes again. */
  playsOwn?: boolean;
}

const ROLLOUTS = 'the episodes of its work file; those that are lost are played again';
const MODEL_CHANGED = 'the model server computes differently now, for example on another processor';
const LABELS_CHANGED = "the agent's label cache lost labels, or this version of Whetstone counts differently";

/** The activities that leave artifacts. */
export const REPEATABLE: Readonly<Record<string, Repeatable>> = {
  prepareRun: {
    takes: 'agent.yaml, the model and the analyst as they are now',
    differs: 'agent.yaml, its environment, the model or an address has changed since the run began',
  },
  planNight: {
    takes: 'seconds',
    differs: 'another version has become active, or the records of earlier runs have changed',
  },
  readServedTraffic: {
    takes: 'seconds',
    differs: 'live traffic was removed or has come in since, or later nights have read more of it',
  },
  decideNight: { takes: 'seconds', differs: 'this version of Whetstone decides differently' },
  collectTrajectories: {
    takes: ROLLOUTS,
    differs: `${MODEL_CHANGED}, or live traffic was removed`,
    playsOwn: true,
  },
  discoverCandidates: {
    takes: 'the recorded answers of the analyst',
    differs: 'an answer was requested again, or this version of Whetstone asks differently',
    answers: ({ measures }: { measures?: true }) => (measures ? 'analyst-discover-served' : 'analyst-discover'),
  },
  planLabels: { takes: 'seconds', differs: LABELS_CHANGED },
  tallyRun: { takes: "labels of the agent's cache", differs: LABELS_CHANGED },
  contrastCapabilities: { takes: 'seconds', differs: LABELS_CHANGED },
  playExperiments: { takes: ROLLOUTS, differs: MODEL_CHANGED, playsOwn: true },
  synthesiseEnvironment: {
    takes: 'the recorded answer of the analyst',
    differs: 'the answer was requested again, or this version of Whetstone asks differently',
    answers: ({ capability, attempt }: { capability: { id: string }; attempt: number }) =>
      `analyst-synthesise-${capability.id}-${attempt}`,
  },
  validateEnvironment: {
    takes: 'the checks that need no model',
    differs: 'this version of Whetstone checks differently',
  },
  rollOutRefused: { takes: ROLLOUTS, differs: MODEL_CHANGED },
  calibrateEnvironment: { takes: ROLLOUTS, differs: MODEL_CHANGED },
  readEnvironment: {
    takes: 'the recorded answers of the analyst',
    differs: 'an answer was requested again, or this version of Whetstone asks differently',
    answers: ({ capability, attempt }: { capability: { id: string }; attempt: number }) =>
      `analyst-read-${capability.id}-${attempt}`,
  },
  trainAdapter: {
    takes: "the training's own folder, else its last checkpoint, else the whole training",
    differs:
      'it was trained again: the manifest contains times, and another processor rounds differently, which gives ' +
      'other weights',
  },
  keepMembers: {
    takes: 'the records of the runs that trained them',
    differs: 'a record or a manifest of an earlier run is gone',
  },
  planEvaluation: {
    takes: 'seconds',
    differs: 'another version has become active, or a canary was started or has ended',
  },
  chooseRouter: { takes: ROLLOUTS, differs: MODEL_CHANGED, playsOwn: true },
  routeTasks: { takes: 'the decisions of its work file', differs: MODEL_CHANGED },
  rollOutArm: { takes: ROLLOUTS, differs: MODEL_CHANGED, playsOwn: true },
  compareArms: {
    takes: 'seconds',
    differs: 'this version of Whetstone computes differently',
  },
  renderReport: {
    takes: 'seconds',
    differs: 'it contains the time of its making, or this version of Whetstone writes it differently',
    keepsOther: true,
  },
  recordIdentification: { takes: 'seconds', differs: 'this version of Whetstone writes it differently' },
  prepareStudy: {
    takes: 'the run that the study is about',
    differs: "the studied run's artifacts or the analyst's address have changed",
  },
  renderStudy: {
    takes: 'seconds',
    differs: 'it contains the time of its making, or this version of Whetstone writes it differently',
    keepsOther: true,
  },
};
