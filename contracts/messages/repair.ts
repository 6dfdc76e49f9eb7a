/** Messages of `repairArtifacts`. Types only, so that workflow code may import them. */
import type { QueueKind } from '../names';

/**
 * Second argument of an activity that `whet repair` executes again. The first argument and the task queue are the same
 * as the first time, so that it makes the same artifacts.
 */
export interface Repetition {
  /**
   * When the activity was scheduled the first time, in milliseconds since 1970. The repetition uses this time as the
   * current time.
   */
  scheduledAtMs: number;
  /** Whether it may pay again for an answer that is not recorded. */
  mayAskAnalyst: boolean;
}

/** An activity to execute again. */
export interface RepairStep {
  activity: string;
  queue: QueueKind;
  input: unknown;
  repetition: Repetition;
  /** One line for people. */
  summary: string;
}

/** Input of `repairArtifacts`: steps in their original order. */
export interface RepairInput {
  runId: string;
  steps: RepairStep[];
}

/** The end of a step: the activity's result, or its failure. */
export type RepairOutcome = { result: unknown } | { failure: { type: string | null; message: string } };
