/**
 * Inputs and results of making an environment and training in it. Types only, so that workflow code may import them.
 * Everything large is a reference.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { CapabilityBrief, RunContext, TokenUse } from './run-context';
import type { TrainedAdapter } from '../artifacts/training';

export interface SharpenInput {
  context: RunContext;
  capability: CapabilityBrief;
  identification: ArtifactRef;
  trajectories: ArtifactRef;
  labels: ArtifactRef;
  maxAttempts: number;
  onRejected: 'wait' | 'skip';
  /**
   * Capabilities of the run that are sharpened side by side, this one counted. Absent: the run was under way at an
   * upgrade.
   */
  sideBySide?: number;
}

/** One attempt, by reference. */
export interface AttemptRefs {
  attempt: number;
  source: ArtifactRef;
  /** JSON of Validation. */
  validation: ArtifactRef;
  /** JSON of CalibrationResult. */
  calibration: ArtifactRef | null;
  /**
   * JSON of Certificate. Absent: the attempt was made before there were certificates; a run that was under way at an
   * upgrade has such.
   */
  certificate?: ArtifactRef;
  accepted: boolean;
  /** It passed its checks and ran without faults, but its figures are out of band. */
  outOfBand: boolean;
  /** One line for people. */
  outcome: string;
}

export interface SharpenResult {
  capability: CapabilityBrief;
  status: 'trained' | 'skipped' | 'failed';
  reason: string;
  attempts: AttemptRefs[];
  /** The accepted source; null when none was. */
  environment: ArtifactRef | null;
  adapter: TrainedAdapter | null;
  tokens: TokenUse[];
}

export interface SynthesisInput {
  context: RunContext;
  capability: CapabilityBrief;
  identification: ArtifactRef;
  trajectories: ArtifactRef;
  labels: ArtifactRef;
  attempt: number;
  previous: AttemptRefs | null;
  /** Attempts so far whose figures were out of band, the previous one included. */
  outOfBand: number;
}

export interface SynthesisResult {
  source: ArtifactRef;
  promptTokens: number;
  completionTokens: number;
  model: string;
}

export interface EnvironmentInput {
  context: RunContext;
  capability: CapabilityBrief;
  source: ArtifactRef;
}

export interface ValidationResult {
  passed: boolean;
  /** At most ten short sentences. */
  problems: string[];
  /** JSON of Validation. */
  detail: ArtifactRef;
  /** JSON of Certificate, without a calibration. */
  certificate: ArtifactRef;
}

export interface CalibrationInput extends EnvironmentInput {
  /** JSON of Validation, for the certificate. */
  validation: ArtifactRef;
  /** JSONL of Trajectory and of ConsensusLabel, for the estimate of transfer. */
  trajectories: ArtifactRef;
  labels: ArtifactRef;
}

export interface CalibrationOutcome {
  inBand: boolean;
  /** Its own code failed in the rollouts: to be corrected, whatever the figures. */
  faulty: boolean;
  /** One line: verdict with its numbers. */
  outcome: string;
  /** JSON of CalibrationResult. */
  detail: ArtifactRef;
  /** JSON of Certificate. */
  certificate: ArtifactRef;
  promptTokens: number;
  completionTokens: number;
}

export interface TrainInput {
  context: RunContext;
  /** Deterministic name of the job in the run: a capability id or `mixed`. */
  job: string;
  environments: { id: string; source: ArtifactRef }[];
  /** Iterations are multiplied by this: the mixed adapter gets as many rollouts as all the others together. */
  budgetFactor: number;
  /** Most trainings that can come to share a trainer with this one, itself counted. Absent: not known. */
  sideBySide?: number;
}
