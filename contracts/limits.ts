/** Limits that workflows and activities must agree on, or that the documents promise. Imports nothing. */

/**
 * First task seeds of the three uses of a synthesised environment. Each has its own range. Validation and calibration
 * draw half of their tasks from the range of training, so that no environment can behave differently there.
 */
export const SYNTHETIC_SEEDS = {
  /** Calibration uses half of `calibration.seeds` of them. */
  calibration: 0,
  /** Validation: scripted policies, no model. */
  validation: 500_000,
  /** Training draws upwards from here. */
  training: 1_000_000,
} as const;

/**
 * Validation and calibration draw training tasks only from the first this many seeds of the training range: about as
 * many as a run trains on.
 */
export const CHECKED_TRAINING_TASKS = 20_000;

/** Heartbeats of long activities, in milliseconds. docs/guides/waits-and-failures.md promises the longest timeout. */
export const HEARTBEAT_MS = {
  /** Between two heartbeats of an activity that names no other time. */
  every: 1_000,
  /**
   * Silence after which Temporal starts an activity again on another worker, by task queue. Activities of the
   * orchestration queue may compute for a while without a pause.
   */
  timeout: { orchestration: 120_000, llm: 15_000, sandbox: 10_000, jobs: 15_000 },
} as const;

/**
 * How often a worker reports to the server that it lives, and how busy it is, in milliseconds. So `whet why` can
 * distinguish a stopped worker from a busy one.
 */
export const WORKER_HEARTBEAT_MS = 5_000;

/** Attempts of one activity from which on the run's progress table says that it fails again and again. */
export const REPORTED_ATTEMPTS = 8;

/** How `labelChunks` divides a plan (docs/explanations/labelling.md). */
export const LABELLING = {
  /** Chunks in flight where the plan names no `window`. */
  chunksInFlight: 4,
  /** Events after which a history continues as new: far fewer than the 10,240 at which the server first warns. */
  historyEvents: 1_500,
  /** Chunks of a plan that one workflow labels by itself. A larger plan is divided among child workflows. */
  chunksPerWorkflow: 1_000,
  /** Most child workflows of one plan. */
  childWorkflows: 4,
} as const;

/** Longest outcome of one environment attempt, in characters: workflows carry it from attempt to attempt. */
export const ATTEMPT_OUTCOME_CHARS = 300;
