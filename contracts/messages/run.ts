/**
 * Inputs and results of workflows and activities; those of single stages lie beside this file. Types only, so that
 * workflow code may import them. Everything large is a reference.
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
  /** Also the workflow id. Empty in a schedule, whose runs take the workflow id that the server gives them. */
  runId: string;
  agent: string;
  /** Absolute path of agent.yaml on the worker's machine. Read once, by `prepareRun`. */
  specPath: string;
  /** Replaces the spec's seed. */
  seed?: number;
  /** Replace the spec's `identify.arm` and `identify.ablations`. */
  arm?: IdentifyArm;
  ablations?: boolean;
}

/** Options that steer the workflow itself; read from the spec by `prepareRun`. */
export interface RunPlan {
  context: RunContext;
  maxAttempts: number;
  mixedAdapter: boolean;
  approval: boolean;
  /** What a capability does when no environment passes: wait for `whet retry` or `whet skip`, or be skipped. */
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

export interface ReportResult {
  /** Artifact names carry the hash; copies called report.html and report.json lie in `directory`. */
  html: ArtifactRef;
  json: ArtifactRef;
  /** Absolute directory, for people. */
  directory: string;
}

/** Result of `improvementRun`. */
export interface ImprovementRunResult {
  runId: string;
  verdict: RunOutcome;
  reasons: string[];
  summary: string;
  promotedVersion: number | null;
  reportDirectory: string;
}

/** Answer to the progress query: the stage table as data. */
export interface RunProgress {
  runId: string;
  agent: string;
  stages: {
    name: StageName;
    status: 'waiting' | 'running' | 'done' | 'skipped' | 'failed' | 'paused';
    detail: string;
    seconds: number | null;
  }[];
  /** Why the run waits for a person, with the command that lets it go on; null when it does not. */
  waitingFor: string | null;
}

/** Signal `note` from a child workflow to its run: a line for the stage table, or a reason to wait (null: goes on). */
export interface StageStatus {
  /** `identify` or a capability id. */
  key: string;
  text: string;
  waitingFor: string | null;
}

/** Argument of the signal `edit`: a source in the store that a person wrote, to be tried as the next attempt. */
export interface EditedEnvironment {
  capabilityId: string;
  source: ArtifactRef;
}

/** Argument of the signals `retry` and `skip`; without a capability, `retry` is for the stage that waits. */
export interface OperatorAnswer {
  capabilityId?: string;
}
