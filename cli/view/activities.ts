import type {
  JobActivities,
  LlmActivities,
  OrchestrationActivities,
  SandboxActivities,
} from '../../contracts/messages/activities';
import type { StageName } from '../../contracts/names';

type ActivityName = keyof OrchestrationActivities | keyof LlmActivities | keyof SandboxActivities | keyof JobActivities;

/** The work of an activity, and its stage. */
interface ActivityView {
  /** Null if it belongs to no stage. */
  stage: StageName | 'prepare' | 'study' | null;
  /** The title is the beginning of a sentence. */
  title: string;
}

/** The type makes the compiler report an activity that is missing here. */
const ACTIVITIES: Record<ActivityName, ActivityView> = {
  takeTurn: { stage: null, title: 'Checking whether the night before has ended' },
  recordEnd: { stage: null, title: 'Recording how the run ended' },
  sendNotice: { stage: null, title: "Posting a notice to the agent's webhook" },
  prepareRun: { stage: 'prepare', title: 'Checking agent.yaml, the model, the analyst and the jail' },
  amendSpec: { stage: null, title: 'Applying a changed agent.yaml to the run' },
  planNight: { stage: 'collect', title: 'Planning the night' },
  decideNight: { stage: 'collect', title: 'Deciding whether the night needs more work' },
  keepMembers: { stage: 'sharpen', title: 'Reading the adapters that the active version keeps' },
  collectTrajectories: { stage: 'collect', title: 'Rolling out the base agent on the train tasks' },
  readServedTraffic: { stage: 'collect', title: 'Reading the live traffic that the active version answered' },
  discoverCandidates: { stage: 'identify', title: 'Asking the analyst which capabilities the failures lack' },
  planLabels: { stage: 'identify', title: 'Planning the labels' },
  labelChunk: { stage: 'identify', title: 'Asking the analyst for labels' },
  tallyRun: { stage: 'identify', title: 'Counting the labels of one labelling run' },
  contrastCapabilities: { stage: 'identify', title: 'Contrasting successes with failures' },
  playExperiments: { stage: 'identify', title: 'Trying the steps of candidates in rollouts' },
  synthesiseEnvironment: { stage: 'sharpen', title: 'Asking the analyst for a training environment' },
  validateEnvironment: { stage: 'sharpen', title: 'Validating an environment in the jail' },
  rollOutRefused: {
    stage: 'sharpen',
    title: 'Playing a few tasks of a refused environment, as evidence for the analyst',
  },
  calibrateEnvironment: { stage: 'sharpen', title: 'Calibrating an environment with the base model' },
  readEnvironment: { stage: 'sharpen', title: 'Asking the analyst to label rollouts in an environment' },
  tryTraining: { stage: null, title: 'Testing whether a trainer can work' },
  trainAdapter: { stage: 'sharpen', title: 'Training an adapter' },
  planEvaluation: { stage: 'evaluate', title: 'Finding what the candidate has to beat' },
  chooseRouter: { stage: 'evaluate', title: 'Comparing routers on the train tasks' },
  routeTasks: { stage: 'evaluate', title: 'Routing the held-out tasks' },
  rollOutArm: { stage: 'evaluate', title: 'Rolling out on the held-out tasks' },
  compareArms: { stage: 'evaluate', title: 'Comparing the arms' },
  promoteAdapters: { stage: 'promote', title: 'Promoting the adapters' },
  renderReport: { stage: 'report', title: 'Writing the report' },
  prepareStudy: { stage: 'study', title: "Finding the study's trajectories" },
  recordIdentification: { stage: 'study', title: 'Adding one identification to the study' },
  renderStudy: { stage: 'study', title: "Writing the study's page" },
};

const isActivityName = (name: string): name is ActivityName => Object.hasOwn(ACTIVITIES, name);

/**
 * An activity in the form that people see. An activity of a newer worker has its own name as its title, and no stage.
 */
export const activityView = (name: string): ActivityView =>
  isActivityName(name) ? ACTIVITIES[name] : { stage: null, title: name };
