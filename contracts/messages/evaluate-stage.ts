/**
 * Inputs and results of evaluation and promotion. Types only, so that workflow code may import them. Large values are
 * references.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { CapabilityBrief, RunContext } from './run-context';
import type { TrainedAdapter } from '../artifacts/training';
import type { RolloutSummary } from '../artifacts/trajectory';

/** One arm of the evaluation: a way to answer the held-out tasks. */
export interface EvaluationArmInput {
  context: RunContext;
  /** Unique name of the arm: its kind, or the adapter's name. */
  arm: string;
  kind: 'base' | 'adapter' | 'mixed' | 'routed';
  /** The adapter of this arm; all adapters for `routed`; empty for base. */
  adapters: TrainedAdapter[];
  /** JSONL of RoutingRecord, for `routed`. */
  routing: ArtifactRef | null;
}

/** What one arm did on the held-out tasks. */
export interface ArmRollouts {
  arm: string;
  kind: EvaluationArmInput['kind'];
  rollouts: RolloutSummary;
}

/** Input of `chooseRouter`: what routers can learn from, and the arms that they choose among. */
export interface ChooseRouterInput {
  context: RunContext;
  adapters: TrainedAdapter[];
  capabilities: CapabilityBrief[];
  /** JSONL of Trajectory: the base model on the train tasks. */
  trajectories: ArtifactRef;
  /** JSONL of ConsensusLabel. */
  labels: ArtifactRef;
}

/** The router that the competition chose. */
export interface ChooseRouterResult {
  /** JSON of CompetitionRouter. */
  router: ArtifactRef;
  /** JSON of RouterChoice. */
  choice: ArtifactRef;
  /** One line for people. */
  summary: string;
}

/** Input of `routeTasks`. */
export interface RoutingInput {
  context: RunContext;
  /** The capabilities among which the router chooses. */
  capabilities: CapabilityBrief[];
  /** JSON of CompetitionRouter. Absent in runs from before routers competed. */
  router?: ArtifactRef;
}

/** The router's choice for every held-out task. */
export interface RoutingResult {
  /** JSONL of RoutingRecord. */
  routing: ArtifactRef;
  tasks: number;
}

/** Input of `compareArms`. */
export interface CompareInput {
  context: RunContext;
  arms: ArmRollouts[];
  capabilities: CapabilityBrief[];
  adapters: TrainedAdapter[];
  /** JSONL of RoutingRecord. */
  routing: ArtifactRef;
  /** JSON of RouterChoice. Absent in runs from before routers competed. */
  routerChoice?: ArtifactRef;
  /** JSON of Identification. */
  identification: ArtifactRef;
  /** Why the mixed adapter was left out and is no arm; absent otherwise. */
  mixedFailure?: string;
}

/** The comparison of all arms, and whether the adapters may be promoted. */
export interface CompareResult {
  /** JSON of Evaluation. */
  evaluation: ArtifactRef;
  gatePassed: boolean;
  /** Why the gate was passed or not, a sentence each. */
  gateReasons: string[];
  /** One line for people: "base 0.34, routed 0.80, difference +0.46 [+0.41, +0.51]". */
  summary: string;
}

/** Input of `promoteAdapters`. */
export interface PromoteInput {
  context: RunContext;
  adapters: TrainedAdapter[];
  capabilities: CapabilityBrief[];
  /** JSON of Evaluation. */
  evaluation: ArtifactRef;
  /** JSON of CompetitionRouter. Absent in runs from before routers competed. */
  router?: ArtifactRef;
}

/** The version that the registry gave the promoted adapters. */
export interface PromoteResult {
  version: number;
}
