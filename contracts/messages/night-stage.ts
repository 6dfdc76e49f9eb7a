/** Inputs and results of a night's measurement. Types only, so that workflow code may import them. */
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
  /** A sentence about the cost of a changed base model. Absent if there is no such cost. */
  remaking?: string;
  /**
   * The active version, and the tasks on which it is measured. `night` is its number, for new sampling seeds. `live` is
   * the largest number of live conversations that the identification reads; absent: none. Null if the run does not
   * measure.
   */
  measure: { version: IncumbentVersion; seeds: SeedRanges; night: number; live?: number } | null;
}

/** Input of `readServedTraffic`. */
export interface ServedTrafficInput {
  context: RunContext;
  version: IncumbentVersion;
  /** The version's rollouts; the live conversations are added to them. */
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
  /** Number of live conversations that it read in addition to the rollouts. Absent if it did not look for any. */
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
  /** Capabilities whose adapters the candidate leaves out. Absent: none. */
  retires?: string[];
  /** Capabilities whose adapter was retired with the same inputs: a training would make it again. Absent: none. */
  retiredBefore?: string[];
}

/** Input of `keepMembers`. */
export interface KeepMembersInput {
  context: RunContext;
  /** The active version. */
  version: IncumbentVersion;
  /** Ids of the capabilities for which the run has an adapter. */
  sharpened: string[];
  /** Capabilities whose adapters are not kept. Absent: none. */
  retires?: string[];
}
