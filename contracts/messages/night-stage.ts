/** Inputs and results of a night's measuring. Types only, so that workflow code may import them. */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { RolloutSummary } from '../artifacts/trajectory';
import type { ArmRollouts, IncumbentVersion } from './evaluate-stage';
import type { IdentifyResult } from './identify-stage';
import type { RunContext } from './run-context';

/** Train tasks, as ranges of seeds. */
export type SeedRanges = { start: number; count: number }[];

/** How a run begins. */
export interface NightPlanResult {
  /** JSON of NightPlan. */
  plan: ArtifactRef;
  /** One line for people. */
  summary: string;
  /** A sentence: the cost of a changed base model. Absent: it costs nothing. */
  remaking?: string;
  /**
   * The active version, and the tasks on which it is measured. `night`: its number, for fresh rollouts. `live`: most
   * conversations of live traffic that the identification sees; absent: none are read. Null: the run does not measure.
   */
  measure: { version: IncumbentVersion; seeds: SeedRanges; night: number; live?: number } | null;
}

/** Input of `readServedTraffic`. */
export interface ServedTrafficInput {
  context: RunContext;
  version: IncumbentVersion;
  /** The version's rollouts, which the conversations join. */
  served: RolloutSummary;
  /** Most conversations. */
  most: number;
}

/** Input of `decideNight`. */
export interface DecideNightInput {
  context: RunContext;
  /** JSON of NightPlan. */
  plan: ArtifactRef;
  version: IncumbentVersion;
  base: ArmRollouts;
  served: ArmRollouts;
  /** JSONL of RoutingRecord: the choices of the version's router. */
  routing: ArtifactRef;
  /** Of the served system. */
  identified: IdentifyResult;
  /** Conversations of live traffic that it read in addition to the rollouts. Absent: none were looked for. */
  live?: number;
}

/** What a night decided. */
export interface NightDecisionResult {
  /** JSON of NightDecision. */
  decision: ArtifactRef;
  outcome: 'goes-on' | 'nothing-new' | 'too-little-power';
  /** The reason and the cost, for people. */
  sentence: string;
  /** Capabilities whose training continues, with the sha256 of the served adapter. Absent: none. */
  continues?: { capabilityId: string; sha256: string }[];
  /** Capabilities whose adapter the candidate does without. Absent: none. */
  retires?: string[];
  /** Capabilities whose adapter was retired on the same content: it would be made again. Absent: none. */
  retiredBefore?: string[];
}

/** Input of `keepMembers`. */
export interface KeepMembersInput {
  context: RunContext;
  /** The active version. */
  version: IncumbentVersion;
  /** Ids of the capabilities that the run has an adapter for. */
  sharpened: string[];
  /** Capabilities whose adapter is not kept. Absent: none. */
  retires?: string[];
}
