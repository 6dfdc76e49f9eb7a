/** Limits that workflows and activities share, or that the documents promise. Imports nothing. */

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
 * Validation and calibration draw their training tasks only from this many first seeds of the training range, about as
 * many as a run trains on.
 */
export const CHECKED_TRAINING_TASKS = 20_000;

/** Heartbeats of long activities, in milliseconds. docs/guides/waits-and-failures.md promises the longest timeout. */
export const HEARTBEAT_MS = {
  /** Time between two heartbeats of an activity that sets no other time. */
  every: 1_000,
  /**
   * After this time without a heartbeat, Temporal restarts an activity on another worker; by task queue. Activities of
   * the orchestration queue may compute for a while without a pause.
   */
  timeout: { orchestration: 120_000, llm: 15_000, sandbox: 10_000, jobs: 15_000 },
} as const;

/**
 * How often a worker reports its load to the server, in milliseconds. So `whet why` can distinguish a stopped worker
 * from a busy one.
 */
export const WORKER_HEARTBEAT_MS = 5_000;

/** From this number of attempts on, the run's progress table shows that an activity keeps failing. */
export const REPORTED_ATTEMPTS = 8;

/** How `labelChunks` divides a plan (docs/explanations/labelling.md). */
export const LABELLING = {
  /** Number of chunks in flight if the plan has no `window`. */
  chunksInFlight: 4,
  /** After this many events a history continues as new: far fewer than the 10,240 at which the server first warns. */
  historyEvents: 1_500,
  /** Largest number of chunks that one workflow labels by itself. A larger plan is divided among child workflows. */
  chunksPerWorkflow: 1_000,
  /** Most child workflows of one plan. */
  childWorkflows: 4,
} as const;

/** Longest outcome of one environment attempt, in characters: workflows carry it from attempt to attempt. */
export const ATTEMPT_OUTCOME_CHARS = 300;

/** Largest number of rollouts of one environment that the second reader may label. */
export const MOST_READ = 100;

/** Successes that a discovery call shows, as a share of its failures. */
export const DISCOVERY_SUCCESSES = 0.25;
