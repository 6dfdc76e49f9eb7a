import type {
  JobActivities,
  LlmActivities,
  OrchestrationActivities,
  SandboxActivities,
} from '../../contracts/messages/activities';

type ActivityName = keyof OrchestrationActivities | keyof LlmActivities | keyof SandboxActivities | keyof JobActivities;

/** What each activity does. The type makes the compiler report an activity without a title. */
const TITLES: Record<ActivityName, string> = {
  takeTurn: 'Checking whether the night before has ended',
  recordEnd: 'Recording how the run ended',
  sendNotice: "Posting a notice to the agent's webhook",
  prepareRun: 'Checking agent.yaml, the model, the analyst and the jail',
  amendSpec: 'Applying a changed agent.yaml to the run',
  planNight: 'Planning the night',
  decideNight: 'Deciding whether the night needs more work',
  keepMembers: 'Reading the adapters that the active version keeps',
  collectTrajectories: 'Rolling out the base agent on the train tasks',
  readServedTraffic: 'Reading the live traffic that the active version answered',
  discoverCandidates: 'Asking the analyst which capabilities the failures lack',
  planLabels: 'Planning the labels',
  labelChunk: 'Asking the analyst for labels',
  tallyRun: 'Counting the labels of one labelling run',
  contrastCapabilities: 'Contrasting successes with failures',
  synthesiseEnvironment: 'Asking the analyst for a training environment',
  validateEnvironment: 'Validating an environment in the jail',
  rollOutRefused: 'Playing a few tasks of a refused environment, as evidence for the analyst',
  calibrateEnvironment: 'Calibrating an environment with the base model',
  tryTraining: 'Testing whether a trainer can work',
  trainAdapter: 'Training an adapter',
  planEvaluation: 'Finding what the candidate has to beat',
  chooseRouter: 'Comparing routers on the train tasks',
  routeTasks: 'Routing the held-out tasks',
  rollOutArm: 'Rolling out on the held-out tasks',
  compareArms: 'Comparing the arms',
  promoteAdapters: 'Promoting the adapters',
  renderReport: 'Writing the report',
  prepareStudy: "Finding the study's trajectories",
  recordIdentification: 'Adding one identification to the study',
  renderStudy: "Writing the study's page",
};

const isActivityName = (name: string): name is ActivityName => Object.hasOwn(TITLES, name);

/** What an activity does, as the beginning of a sentence. An activity of a newer worker gets its own name. */
export const activityTitle = (name: string): string => (isActivityName(name) ? TITLES[name] : name);
