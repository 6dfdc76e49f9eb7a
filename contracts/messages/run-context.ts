/**
 * Arguments and results of activities of every stage. Types only, so that workflow code may import them. Large values
 * are references.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { Report } from '../artifacts/report';
import type { StageName } from '../names';
import type { TrainingReason } from '../artifacts/training';

/** The argument that every activity gets. It is small, and constant during a run. */
export interface RunContext {
  runId: string;
  agent: string;
  /** The agent's spec with all defaults filled in and the seed replaced (JSON of `PreparedSpec`). */
  spec: ArtifactRef;
  seed: number;
}

/** Heartbeat details of every long activity; `whet status` and `whet why` show them. */
export interface StageProgress {
  stage: StageName;
  /** The unit of the count, in the plural: rollouts, labels, iterations. */
  unit: string;
  done: number;
  total: number;
  ratePerSecond: number;
  /** Estimate; null while unknown. */
  secondsLeft: number | null;
  /** One line for people. */
  note?: string;
  /** Only for a training on a cluster: why it waits, or that it runs. */
  reason?: TrainingReason;
}

/** Tokens that one stage used of one model. */
export type TokenUse = Report['tokens'][number];

/** A capability in the form that the stages after identification need. */
export interface CapabilityBrief {
  /** Stable in the agent's dictionary; part of file names and workflow ids. */
  id: string;
  name: string;
  summary: string;
}

/** How long a stage took, for the report. */
export type StageTiming = Report['stages'][number];
