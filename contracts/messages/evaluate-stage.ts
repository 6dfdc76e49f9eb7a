/**
 * Inputs and results of evaluation and promotion. Types only, so that workflow code may import them. Large values are
 * references.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { Culprit } from '../artifacts/evaluation';
import type { SeedRanges } from './night-stage';
import type { CapabilityBrief, RunContext } from './run-context';
import type { TrainedAdapter } from '../artifacts/training';
import type { RolloutSummary } from '../artifacts/trajectory';
import type { RouterKind } from '../config/router-kinds';

/** The held-out tasks that every arm plays; they are frozen in the plan before any is played. */
export interface HeldOut {
  /** Trials of each task by each arm. */
  trials: number;
  /** The tasks of this run, if they rotate between runs. Absent: all held-out tasks. */
  seeds?: SeedRanges;
}

/** One arm of the evaluation: a way to answer the held-out tasks. */
export interface EvaluationArmInput {
  context: RunContext;
  /** Unique name of the arm: its kind, or the adapter's name. */
  arm: string;
  kind: 'base' | 'adapter' | 'mixed' | 'routed' | 'incumbent';
  /** The adapter of this arm; all adapters for `routed` and `incumbent`; empty for base. */
  adapters: StoredAdapter[];
  /** JSONL of RoutingRecord, for `routed` and `incumbent`. */
  routing: ArtifactRef | null;
  /** JSON of Router, for `routed` and `incumbent`, whose conversations may switch adapters. Absent: none does. */
  router?: ArtifactRef;
  /** For `incumbent`: which version it is, and the run that made it. */
  incumbent?: Pick<IncumbentVersion, 'version' | 'runId'>;
  /** The plan's held-out tasks and trials. Absent with `train`. */
  heldOut?: HeldOut;
  /**
   * Train tasks that are played instead, with one trial each, for the measurement of a night. Absent: the held-out
   * tasks.
   */
  train?: SeedRanges;
  /**
   * The night's number, if it plays train tasks: its rollouts get new sampling seeds. Absent: the seeds of the
   * collection.
   */
  night?: number;
}

/** An adapter in the store, of this run or of an earlier one. */
export type StoredAdapter = Pick<TrainedAdapter, 'name' | 'capabilityId' | 'key' | 'sha256'>;

/** Input of `planEvaluation`. */
export interface PlanEvaluationInput {
  context: RunContext;
  /** JSONL of Trajectory: the base model on the train tasks. */
  trajectories: ArtifactRef;
  /** Share of its rollouts that failed. Absent: none. */
  failed?: number;
  /** The tasks and trials of the run's earlier plan; the new plan repeats them. Absent: this plan is the first. */
  heldOut?: HeldOut;
}

/** The active version as an opponent of the candidate. */
export interface IncumbentVersion {
  version: number;
  /** The run that made it. */
  runId: string;
  adapters: StoredAdapter[];
  capabilities: CapabilityBrief[];
  /** JSON of Router. */
  router: ArtifactRef;
}

/** The plan of a run's evaluation, and its rival. */
export interface PlanEvaluationResult {
  /** JSON of EvaluationPlan. */
  plan: ArtifactRef;
  /** Null if there is no opponent; the plan says why. */
  incumbent: IncumbentVersion | null;
  /** What every arm plays. */
  heldOut: HeldOut;
  /** One line for people. */
  summary: string;
}

/** The result of one arm on the held-out tasks. */
export interface ArmRollouts {
  arm: string;
  kind: EvaluationArmInput['kind'];
  rollouts: RolloutSummary;
  /** JSON of DoNothing: the held-out tasks, played by an agent that does nothing. Only of `base`. */
  doNothing?: ArtifactRef;
}

/** The adapters that a run has trained or kept, each with its capability. */
interface TrainedArms {
  context: RunContext;
  adapters: TrainedAdapter[];
  capabilities: CapabilityBrief[];
}

/** Input of `chooseRouter`: the data that routers learn from, and the arms that they choose among. */
export interface ChooseRouterInput extends TrainedArms {
  /** The mixed adapter, trained on all environments: it competes with the routers. Absent: there is none. */
  mixed?: TrainedAdapter;
  /** JSONL of Trajectory: the base model on the train tasks. */
  trajectories: ArtifactRef;
  /** JSONL of ConsensusLabel. */
  labels: ArtifactRef;
}

/** The router that the competition chose. */
export interface ChooseRouterResult {
  /** JSON of Router. */
  router: ArtifactRef;
  /** JSON of RouterChoice. */
  choice: ArtifactRef;
  /** Its kind. */
  kind: RouterKind;
  /** Whether its conversations follow the needs that tools show; absent: they do not. */
  followsTools?: boolean;
  /** One line for people. */
  summary: string;
}

/** Input of `routeTasks`. */
export interface RoutingInput {
  context: RunContext;
  /** The capabilities among which the router chooses. */
  capabilities: CapabilityBrief[];
  /** JSON of Router. */
  router: ArtifactRef;
  /** Name of the file with its choices. */
  name: string;
  /** The plan's held-out tasks and trials. Absent with `train`. */
  heldOut?: HeldOut;
  /** Train tasks to route instead. Absent: the held-out tasks. */
  train?: SeedRanges;
}

/** The router's choice for every task. */
export interface RoutingResult {
  /** JSONL of RoutingRecord. */
  routing: ArtifactRef;
  tasks: number;
}

/** Input of `compareArms`. */
export interface CompareInput extends TrainedArms {
  arms: ArmRollouts[];
  /** JSONL of RoutingRecord. */
  routing: ArtifactRef;
  /** JSON of RouterChoice. */
  routerChoice: ArtifactRef;
  /** JSON of Router. */
  router: ArtifactRef;
  /** Why the mixed adapter was left out; absent if it is an arm. */
  mixedFailure?: string;
  /** The mixed adapter, if there is one. */
  mixed?: TrainedAdapter;
  /** JSON of EvaluationPlan. */
  plan: ArtifactRef;
  /** The active version, if it is an arm, with its JSONL of RoutingRecord. */
  incumbent?: IncumbentVersion & { routing: ArtifactRef };
  /** Why the active version is no arm although the plan has it; absent otherwise. */
  incumbentFailure?: string;
  /** Capabilities whose adapters the candidate leaves out, because a night asked for it. Absent: none. */
  retires?: string[];
}

/** The comparison of all arms, and whether the adapters may be promoted. */
export interface CompareResult {
  /** JSON of Evaluation. */
  evaluation: ArtifactRef;
  gatePassed: boolean;
  /** Why the gate was passed or not, one sentence for each reason. */
  gateReasons: string[];
  /** One line for people: "base 0.34, routed 0.80, difference +0.46 [+0.41, +0.51]". */
  summary: string;
  /** The reason why the gate was not passed. Absent: it was passed. */
  culprit?: Culprit;
}

/** Input of `promoteAdapters`. */
export interface PromoteInput extends TrainedArms {
  /** JSON of Evaluation. */
  evaluation: ArtifactRef;
  /** JSON of Router. */
  router: ArtifactRef;
}

/** The version that the registry gave the promoted adapters. */
export interface PromoteResult {
  /** Null if the active version has changed since the comparison. Nothing was changed. */
  version: number | null;
}
