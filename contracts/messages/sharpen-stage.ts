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
  /** JSON of SecondReading. Absent: no second reader saw it. */
  reading?: ArtifactRef;
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
  /** Skipped because the analyst declined to write an environment. Absent: not for that reason. */
  declined?: true;
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
  /** How often the analyst declined in this run before a person had it asked again. Absent: never. */
  declines?: number;
}

/** The analyst's answer. */
export type SynthesisResult = SynthesisAnswer & {
  promptTokens: number;
  completionTokens: number;
  /** Name of the analyst's model. */
  model: string;
  /** The run that has the answer, if the analyst did not have to be asked. */
  reusedFrom?: string;
};

/** The Python source of an environment, or why there can be none: one sentence for people. */
type SynthesisAnswer = { source: ArtifactRef } | { source: null; declined: string };

/** An environment of a capability: input of `rollOutRefused`. */
export interface EnvironmentInput extends Pick<SharpenInput, 'context' | 'capability'> {
  /** Python source. */
  source: ArtifactRef;
}

/** Input of `validateEnvironment`. */
export interface ValidationInput extends EnvironmentInput {
  /** JSONL of Trajectory, of the agent's own tasks. Absent: only the environment itself says how its tasks begin. */
  trajectories?: ArtifactRef;
  /**
   * Earlier attempts of the analyst, the oldest first. This attempt must teach at least as much as each of them. Absent
   * for the first attempt, and for a person's environment.
   */
  before?: (Pick<AttemptRefs, 'source' | 'validation'> & Partial<Pick<AttemptRefs, 'calibration'>>)[];
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
  /** JSONL of RolloutToRead, for the second reader. Absent: out of band, or agent.yaml wants no second reader. */
  toRead?: ArtifactRef;
  promptTokens: number;
  completionTokens: number;
  /** The run that made the rollouts, if this one did not have to. */
  reusedFrom?: string;
}

/** Input of `readEnvironment`. */
export interface ReadingInput
  extends EnvironmentInput, Pick<SharpenInput, 'identification' | 'trajectories' | 'labels'> {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** JSONL of RolloutToRead. */
  toRead: ArtifactRef;
  /** JSON of CalibrationResult. */
  calibration: ArtifactRef;
  /** JSON of Certificate, with the calibration. */
  certificate: ArtifactRef;
}

/** What the second reader found. */
export interface ReadingOutcome {
  passed: boolean;
  /** One line for people. */
  outcome: string;
  /** JSON of SecondReading. */
  detail: ArtifactRef;
  /** JSON of Certificate, with this check. */
  certificate: ArtifactRef;
  promptTokens: number;
  completionTokens: number;
  /** Name of the analyst's model. */
  model: string;
  /** The run that asked, if this one did not have to. */
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
  /** The run's train rollouts and their labels, from which the tasks for probes are chosen. Absent: no probes. */
  evidence?: {
    /** JSONL of Trajectory. */
    trajectories: ArtifactRef;
    /** JSONL of ConsensusLabel. */
    labels: ArtifactRef;
  };
  /** Largest number of trainings that may share one trainer, including this one. Absent: not known. */
  sideBySide?: number;
  /**
   * Sha256 of an adapter of this agent from which the training continues, if its inputs were trained before. Absent:
   * the run takes an adapter that was trained on the same inputs.
   */
  continues?: string;
}
