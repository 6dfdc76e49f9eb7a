/**
 * What activities of every stage get and say. Types only, so that workflow code may import them. Everything large is a
 * reference.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { StageName } from '../names';
import type { TrainingReason } from '../artifacts/training';

/** What every activity gets: small, and the same in the whole run. */
export interface RunContext {
  runId: string;
  agent: string;
  /** The agent's spec with all defaults filled in and the seed replaced (JSON of `PreparedSpec`). */
  spec: ArtifactRef;
  seed: number;
}

/** Heartbeat details of every long activity; `whet status` and the stage table show them. */
export interface StageProgress {
  stage: StageName;
  /** What is being counted, in the plural: rollouts, labels, iterations. */
  unit: string;
  done: number;
  total: number;
  ratePerSecond: number;
  /** Null while unknown. */
  secondsLeft: number | null;
  note?: string;
  /** Of a training on a cluster: what it waits for, or that it goes on. */
  reason?: TrainingReason;
}

export interface TokenUse {
  stage: string;
  model: string;
  promptTokens: number;
  completionTokens: number;
}

export interface CapabilityBrief {
  id: string;
  name: string;
  summary: string;
}

export interface StageTiming {
  name: StageName;
  seconds: number;
  status: 'done' | 'skipped' | 'failed';
}
