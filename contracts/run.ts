/** Inputs and results of workflows and activities. Types only, so that workflow code may import them. Everything large is a reference. */
import type { ArtifactRef } from './artifacts';
import type { IdentifyArm } from './capability';
import type { StageName, Verdict } from './constants';
import type { RolloutSummary } from './trajectory';
import type { TrainedAdapter } from './training';

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

/** What every activity gets: small, and the same in the whole run. */
export interface RunContext {
  runId: string;
  agent: string;
  /** The agent's spec with all defaults filled in and the seed replaced (JSON of `PreparedSpec`). */
  spec: ArtifactRef;
  seed: number;
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

export interface DiscoveryResult {
  /** JSON array of Candidate. */
  candidates: ArtifactRef;
  /** JSON: merges, and the agent's dictionary as it was. */
  detail: ArtifactRef;
  count: number;
  calls: number;
}

/** What one labelling run is planned from. */
export interface PlanLabelsInput extends IdentifyInput {
  candidates: ArtifactRef;
  /** Independent labelling run, from 0. */
  run: number;
}

export interface LabelPlan {
  /** JSON: the chunks, each a range of trajectories with all candidates, in the order of the trajectories. */
  plan: ArtifactRef;
  chunks: number;
  calls: number;
  /** Chunks in flight that keep the analyst's `concurrency` busy while others begin and end. Default 4. */
  window?: number;
}

export interface LabelChunkResult {
  asked: number;
  reused: number;
  unlabelled: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
}

export interface LabelChunksInput {
  context: RunContext;
  plan: LabelPlan;
  trajectories: ArtifactRef;
  candidates: ArtifactRef;
  /** First chunk not yet finished; moves on with continue-as-new. */
  cursor: number;
  /** Chunk before which to stop; absent: label the whole plan, split among children where it is large. */
  end?: number;
  totals: LabelChunkResult;
}

export interface IdentifyInput {
  context: RunContext;
  collected: RolloutSummary;
  /**
   * For studies: an identification that knows nothing of the agent's dictionary and leaves nothing in it. Its labelling runs count from
   * `firstRun`, so that its labels are its own.
   */
  independent?: { firstRun: number };
}

/** What one labelling run leaves. */
export interface TallyInput {
  context: RunContext;
  plan: LabelPlan;
  /** Labelling run, from 0 in this identification. */
  run: number;
  trajectories: ArtifactRef;
  /** JSON array of Candidate: those that were labelled in this run. */
  candidates: ArtifactRef;
  /** JSON array of Candidate: all of this identification. */
  discovered: ArtifactRef;
  totals: LabelChunkResult;
  /** Tally of the run before. */
  previous: ArtifactRef | null;
}

export interface TallyResult {
  /** JSON: the labels of this run, and a reference to the tally before. */
  tally: ArtifactRef;
  /** JSON array of Candidate: those that need another run; null when none does or all runs are made. */
  open: ArtifactRef | null;
  /** One line for people. */
  note: string;
}

export interface ContrastInput {
  context: RunContext;
  trajectories: ArtifactRef;
  discovery: DiscoveryResult;
  /** The last one; null without candidates. */
  tally: ArtifactRef | null;
  /** Of all labelling runs. */
  totals: LabelChunkResult;
  independent?: { firstRun: number };
}

export interface IdentifyResult {
  /** JSON of Identification. */
  identification: ArtifactRef;
  /** JSONL of ConsensusLabel, by trajectory and candidate. */
  labels: ArtifactRef;
  kept: CapabilityBrief[];
  candidates: number;
  tokens: TokenUse[];
}

export interface SharpenInput {
  context: RunContext;
  capability: CapabilityBrief;
  identification: ArtifactRef;
  trajectories: ArtifactRef;
  labels: ArtifactRef;
  maxAttempts: number;
  onRejected: 'wait' | 'skip';
}

/** One attempt, by reference. */
export interface AttemptRefs {
  attempt: number;
  source: ArtifactRef;
  /** JSON of EnvironmentAttempt['validation']. */
  validation: ArtifactRef;
  /** JSON of CalibrationResult. */
  calibration: ArtifactRef | null;
  accepted: boolean;
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
  detail: ArtifactRef;
}

export interface CalibrationOutcome {
  inBand: boolean;
  /** One line: verdict with its numbers. */
  outcome: string;
  detail: ArtifactRef;
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
}

export interface ArmInput {
  context: RunContext;
  arm: string;
  kind: 'base' | 'adapter' | 'mixed' | 'routed';
  /** The adapter of this arm; all adapters for `routed`; empty for base. */
  adapters: TrainedAdapter[];
  /** JSONL of RoutingRecord, for `routed`. */
  routing: ArtifactRef | null;
}

export interface ArmRollouts {
  arm: string;
  kind: ArmInput['kind'];
  rollouts: RolloutSummary;
}

export interface RoutingInput {
  context: RunContext;
  capabilities: CapabilityBrief[];
}

export interface RoutingResult {
  routing: ArtifactRef;
  tasks: number;
}

export interface CompareInput {
  context: RunContext;
  arms: ArmRollouts[];
  capabilities: CapabilityBrief[];
  adapters: TrainedAdapter[];
  routing: ArtifactRef;
  /** JSON of Identification. */
  identification: ArtifactRef;
}

export interface CompareResult {
  /** JSON of Evaluation. */
  evaluation: ArtifactRef;
  gatePassed: boolean;
  gateReasons: string[];
  /** For people: "base 0.34, routed 0.80, difference +0.46 [+0.41, +0.51]". */
  summary: string;
}

export interface PromoteInput {
  context: RunContext;
  adapters: TrainedAdapter[];
  capabilities: CapabilityBrief[];
  evaluation: ArtifactRef;
}

export interface PromoteResult {
  version: number;
}

export interface StageTiming {
  name: StageName;
  seconds: number;
  status: 'done' | 'skipped' | 'failed';
}

/** Everything the report is made from. */
export interface ReportInput {
  context: RunContext;
  verdict: Verdict;
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

/** Input of `studyStability`. */
export interface StudyInput {
  /** Also the workflow id. */
  studyId: string;
  agent: string;
  /** Independent identifications. */
  identifications: number;
  /** Run whose trajectories are used; null: the agent's last one that has any. */
  sourceRun: string | null;
}

export interface StudyPlan {
  /** Frozen spec with one labelling run for each identification; `runId` is the study's. */
  context: RunContext;
  sourceRun: string;
  collected: RolloutSummary;
}

export interface StudyRecord {
  plan: StudyPlan;
  seed: number;
  identified: Pick<IdentifyResult, 'identification' | 'labels'>;
  /** What was recorded before; null for the first. */
  previous: ArtifactRef | null;
}

export interface StudyResult {
  /** Absolute directory with study.html, study.json and stability.svg. */
  directory: string;
  json: ArtifactRef;
  html: ArtifactRef;
  /** For people. */
  summary: string;
}

/** Result of `improvementRun`. */
export interface ImprovementRunResult {
  runId: string;
  verdict: Verdict;
  reasons: string[];
  summary: string;
  promotedVersion: number | null;
  reportDirectory: string;
}

/** Answer to the progress query: the stage table as data. */
export interface RunProgress {
  runId: string;
  agent: string;
  stages: { name: StageName; status: 'waiting' | 'running' | 'done' | 'skipped' | 'failed' | 'paused'; detail: string; seconds: number | null }[];
  /** Why the run waits for a person, with the command that lets it go on; null when it does not. */
  waitingFor: string | null;
}

/** Signal `note` from a child workflow to its run: a line for the stage table, or a reason to wait (null: goes on). */
export interface ChildNote {
  /** `identify` or a capability id. */
  key: string;
  text: string;
  waitingFor: string | null;
}

/** Argument of the signals `retry` and `skip`; without a capability, `retry` is for the stage that waits. */
export interface HoldAnswer {
  capabilityId?: string;
}
