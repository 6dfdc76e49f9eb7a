/**
 * Inputs and results of the two steps of sharpening: making an environment, and training in it. Types only, so that
 * workflow code may import them. Large values are references.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { CapabilityBrief, RunContext, TokenUse } from './run-context';
import type { TrainedAdapter } from '../artifacts/training';

/** Input of `sharpenCapability`. */
export interface SharpenInput {
  context: RunContext;
  capability: CapabilityBrief;
  /** JSON of Identification. */
  identification: ArtifactRef;
  /** JSONL of Trajectory. */
  trajectories: ArtifactRef;
  /** JSONL of ConsensusLabel. */
  labels: ArtifactRef;
  /** Environment attempts in one round. */
  maxAttempts: number;
  /** Reaction when no environment passes: wait for a person, or skip the capability. */
  onRejected: 'wait' | 'skip';
  /** Number of capabilities that the run sharpens in parallel, including this one. */
  sideBySide: number;
  /**
   * Sha256 of this capability's served adapter, if its training continues from it. Absent: the training does not
   * continue from it.
   */
  continues?: string;
}

/** One attempt to make an environment. */
export interface AttemptRefs {
  /** From 1. */
  attempt: number;
  /** Python source. */
  source: ArtifactRef;
  /** JSON of Validation. */
  validation: ArtifactRef;
  /** JSON of CalibrationResult; null when the environment was not valid. */
  calibration: ArtifactRef | null;
  /** JSON of Certificate. */
  certificate: ArtifactRef;
  /** JSONL of Trajectory: rollouts of the base model for display. Absent if it was accepted or cannot be played. */
  rollouts?: ArtifactRef;
  /** The earlier run that wrote the environment, if any. */
  reusedFrom?: string;
  /** The earlier run that made the calibration, if any. */
  calibrationFrom?: string;
  accepted: boolean;
  /** One line for people. */
  outcome: string;
}

/** Result of `sharpenCapability`. */
export interface SharpenResult {
  capability: CapabilityBrief;
  status: 'trained' | 'skipped' | 'failed';
  /** One line that explains the status. */
  reason: string;
  attempts: AttemptRefs[];
  /** Source of the accepted environment; null if there is none. */
  environment: ArtifactRef | null;
  adapter: TrainedAdapter | null;
  tokens: TokenUse[];
}

/** Input of `synthesiseEnvironment`. */
export interface SynthesisInput extends Pick<
  SharpenInput,
  'context' | 'capability' | 'identification' | 'trajectories' | 'labels'
> {
  /** From 1. */
  attempt: number;
  /** The previous attempt, whose results are feedback; null for the first. */
  previous: AttemptRefs | null;
  /** The outcomes of the latest attempts, including the previous one. */
  history: { attempt: number; outcome: string }[];
}

/** The environment that the analyst wrote. */
export interface SynthesisResult {
  /** Python source. */
  source: ArtifactRef;
  promptTokens: number;
  completionTokens: number;
  /** Name of the analyst's model. */
  model: string;
  /** The run that wrote it, if the analyst did not have to be asked. */
  reusedFrom?: string;
}

/** An environment of a capability: input of `rollOutRefused`. */
export interface EnvironmentInput extends Pick<SharpenInput, 'context' | 'capability'> {
  /** Python source. */
  source: ArtifactRef;
}

/** Input of `validateEnvironment`. */
export interface ValidationInput extends EnvironmentInput {
  /**
   * Earlier attempts of the analyst, the oldest first. This attempt must teach at least as much as each of them. Absent
   * for the first attempt, and for a person's environment.
   */
  before?: Pick<AttemptRefs, 'source' | 'validation'>[];
}

/** Result of the checks that need no model. */
export interface ValidationResult {
  passed: boolean;
  /** One sentence for each failed check, ten at most. */
  problems: string[];
  /** True if its form is right, so that it can be played. */
  playable: boolean;
  /** JSON of Validation. */
  detail: ArtifactRef;
  /** JSON of Certificate, without a calibration. */
  certificate: ArtifactRef;
}

/** The base model's rollouts in an environment that its checks refused. */
export interface RefusedRollouts {
  /** JSONL of Trajectory; null if the environment failed before it showed anything. */
  rollouts: ArtifactRef | null;
  promptTokens: number;
  completionTokens: number;
}

/** Input of `calibrateEnvironment`. */
export interface CalibrationInput extends EnvironmentInput, Pick<SharpenInput, 'trajectories' | 'labels'> {
  /** JSON of Validation, for the certificate. */
  validation: ArtifactRef;
}

/** Result of the rollouts of the base model in an environment. */
export interface CalibrationOutcome {
  /** Whether rewards and success rates are in the range that training needs. */
  inBand: boolean;
  /** The environment's own code failed in a rollout. It must be corrected, whatever the figures are. */
  faulty: boolean;
  /** One line: verdict with its numbers. */
  outcome: string;
  /** JSON of CalibrationResult. */
  detail: ArtifactRef;
  /** JSON of Certificate. */
  certificate: ArtifactRef;
  /** JSONL of Trajectory: a few of the rollouts, for the analyst. Absent if it is in band, or if there are none. */
  rollouts?: ArtifactRef;
  promptTokens: number;
  completionTokens: number;
  /** The run that made the rollouts, if this one did not have to. */
  reusedFrom?: string;
}

/** Input of `trainAdapter`. */
export interface TrainInput {
  context: RunContext;
  /** Name of the training in the run: a capability id, or `mixed`. */
  job: string;
  /** Python sources, each with the id of its capability. */
  environments: { id: string; source: ArtifactRef }[];
  /** Multiplies the iterations, so that the mixed adapter gets as many rollouts as all the others together. */
  budgetFactor: number;
  /** Largest number of trainings that may share one trainer, including this one. Absent: not known. */
  sideBySide?: number;
  /**
   * Sha256 of an adapter of this agent from which the training continues, if its inputs were trained before. Absent:
   * the run takes an adapter that was trained on the same inputs.
   */
  continues?: string;
}
