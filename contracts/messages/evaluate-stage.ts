/**
 * Inputs and results of evaluation and promotion. Types only, so that workflow code may import them. Everything large
 * is a reference.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { CapabilityBrief, RunContext } from './run-context';
import type { TrainedAdapter } from '../artifacts/training';
import type { RolloutSummary } from '../artifacts/trajectory';

export interface EvaluationArmInput {
  context: RunContext;
  arm: string;
  kind: 'base' | 'adapter' | 'mixed' | 'routed';
  /** The adapter of this arm; all adapters for `routed`; empty for base. */
  adapters: TrainedAdapter[];
  /** JSONL of RoutingRecord, for `routed`. */
  routing: ArtifactRef | null;
}

export interface ArmRollouts {
  arm: string;
  kind: EvaluationArmInput['kind'];
  rollouts: RolloutSummary;
}

export interface RoutingInput {
  context: RunContext;
  capabilities: CapabilityBrief[];
}

export interface RoutingResult {
  routing: ArtifactRef;
  tasks: number;
}

export interface CompareInput {
  context: RunContext;
  arms: ArmRollouts[];
  capabilities: CapabilityBrief[];
  adapters: TrainedAdapter[];
  routing: ArtifactRef;
  /** JSON of Identification. */
  identification: ArtifactRef;
}

export interface CompareResult {
  /** JSON of Evaluation. */
  evaluation: ArtifactRef;
  gatePassed: boolean;
  gateReasons: string[];
  /** For people: "base 0.34, routed 0.80, difference +0.46 [+0.41, +0.51]". */
  summary: string;
}

export interface PromoteInput {
  context: RunContext;
  adapters: TrainedAdapter[];
  capabilities: CapabilityBrief[];
  evaluation: ArtifactRef;
}

export interface PromoteResult {
  version: number;
}
