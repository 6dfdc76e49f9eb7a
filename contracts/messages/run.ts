/**
 * Messages of a run as a whole; those of single stages have files of their own. Types only, so that workflow code may
 * import them. Large values are references.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { IdentifyArm } from '../artifacts/identification';
import type { StageName, RunOutcome } from '../names';
import type { ArmRollouts, CompareResult } from './evaluate-stage';
import type { IdentifyResult } from './identify-stage';
import type { RunContext, StageTiming } from './run-context';
import type { SharpenResult } from './sharpen-stage';
import type { TrainedAdapter } from '../artifacts/training';
import type { RolloutSummary } from '../artifacts/trajectory';

/** Input of `improvementRun`. */
export interface ImprovementRunInput {
  /** Also the workflow id. Empty in a schedule: its runs take the workflow id that the server gives them. */
  runId: string;
  agent: string;
  /** Absolute path of agent.yaml on the worker's machine. Read once, by `prepareRun`. */
  specPath: string;
  /** Replaces `seed` of the spec. */
  seed?: number;
  /** Replaces `identify.arm` of the spec. */
  arm?: IdentifyArm;
  /** Replaces `identify.ablations` of the spec. */
  ablations?: boolean;
}

/** What the workflow must know of the spec; `prepareRun` reads it. */
export interface RunPlan {
  context: RunContext;
  /** Environment attempts in one round. */
  maxAttempts: number;
  /** Whether to train and evaluate one adapter on all environments, for comparison. */
  mixedAdapter: boolean;
  /** Whether a person must approve the promotion. */
  approval: boolean;
  /** When no environment of a capability passes: wait for a person, or skip the capability. */
  onRejected: 'wait' | 'skip';
}

/** Everything the report is made from. */
export interface ReportInput {
  context: RunContext;
  verdict: RunOutcome;
  collected: RolloutSummary;
  identified: IdentifyResult;
  sharpened: SharpenResult[];
  mixed: TrainedAdapter | null;
  arms: ArmRollouts[];
  comparison: CompareResult | null;
  routing: ArtifactRef | null;
  promotedVersion: number | null;
  stages: StageTiming[];
}

/** Where the report is. The names of the artifacts carry their hash. */
export interface ReportResult {
  html: ArtifactRef;
  json: ArtifactRef;
  /** Absolute directory with copies named report.html and report.json, for people. */
  directory: string;
}

/** Result of `improvementRun`. */
export interface ImprovementRunResult {
  runId: string;
  verdict: RunOutcome;
  /** Why the adapters were promoted or not, a sentence each. */
  reasons: string[];
  /** The comparison in one line; empty when nothing was evaluated. */
  summary: string;
  promotedVersion: number | null;
  reportDirectory: string;
}

/** Answer to the progress query: the progress table as data. */
export interface RunProgress {
  runId: string;
  agent: string;
  stages: {
    name: StageName;
    status: 'waiting' | 'running' | 'done' | 'skipped' | 'failed' | 'paused';
    detail: string;
    seconds: number | null;
  }[];
  /** Why the run waits for a person, with the commands that answer it. Null when it does not wait. */
  waitingFor: string | null;
}

/** Argument of the signal `note`, from a child workflow or an activity to its run. */
export interface StageStatus {
  /** A stage, or the id of a capability. */
  key: string;
  /** What it does, in one line. Empty: the last line stays. */
  text: string;
  /** Why it waits for a person; null when it does not. */
  waitingFor: string | null;
}

/** Argument of the signal `edit`: an environment that a person edited, to be tried as the next attempt. */
export interface EditedEnvironment {
  capabilityId: string;
  /** Python source. */
  source: ArtifactRef;
}

/** Argument of the signals `retry` and `skip`. */
export interface OperatorAnswer {
  /** The capability that waits. Absent: identification waits. */
  capabilityId?: string;
}
