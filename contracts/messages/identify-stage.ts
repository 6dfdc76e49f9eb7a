/**
 * Inputs and results of identification and of the stability study. Types only, so that workflow code may import them.
 * Large values are references.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { CapabilityBrief, RunContext, TokenUse } from './run-context';
import type { RolloutSummary } from '../artifacts/trajectory';

/** Candidate capabilities that the analyst named. */
export interface DiscoveryResult {
  /** JSON array of Candidate. */
  candidates: ArtifactRef;
  /** JSON: which candidates were merged, and the agent's dictionary as it was before. */
  detail: ArtifactRef;
  /** Candidates. */
  count: number;
  /** Calls to the analyst. */
  calls: number;
  /**
   * What a night labels and contrasts: its own rollouts with those of earlier nights, and the number of these. Absent:
   * its own alone.
   */
  pooled?: { rollouts: RolloutSummary; earlier: number };
}

/** Input of `planLabels`: one labelling run. */
export interface PlanLabelsInput extends IdentifyInput {
  candidates: ArtifactRef;
  /** Number of the labelling run, from 0. Labels of different runs are independent. */
  run: number;
}

/** How one labelling run is divided into chunks. */
export interface LabelPlan {
  /** JSON: the chunks, each a range of trajectories with all candidates, in the order of the trajectories. */
  plan: ArtifactRef;
  chunks: number;
  /** Labels in all chunks: (trajectory, candidate) pairs. */
  calls: number;
  /**
   * Number of chunks labelled in parallel: enough to use the analyst's `concurrency` while chunks begin and end.
   * Default: LABELLING.chunksInFlight.
   */
  window?: number;
}

/** Counts of one chunk, or of several together. */
export interface LabelChunkResult {
  /** Number of labels for which the analyst was asked. */
  asked: number;
  /** Number of labels that the store already had. */
  reused: number;
  /** Number of pairs without a label, because no valid answer came. */
  unlabelled: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
}

/** Input of `labelChunks`. */
export interface LabelChunksInput {
  context: RunContext;
  plan: LabelPlan;
  trajectories: ArtifactRef;
  /** JSON array of Candidate: the candidates of this labelling run. */
  candidates: ArtifactRef;
  /** The first chunk that has not begun; continue-as-new increases it. */
  cursor: number;
  /** Labelling stops before this chunk. Absent: label the whole plan, and divide a large one among children. */
  end?: number;
  /** Counts of the earlier chunks. */
  totals: LabelChunkResult;
}

/** Input of `identifyCapabilities`. */
export interface IdentifyInput {
  context: RunContext;
  collected: RolloutSummary;
  /**
   * For studies: the identification neither reads nor changes the agent's dictionary. Its labelling runs count from
   * `firstRun`, so that it shares no labels with other identifications.
   */
  independent?: { firstRun: number };
  /** True for a night's identification, which examines the active version. Afterwards the run may identify on base. */
  measures?: true;
}

/** Input of `tallyRun`: a labelling run whose chunks all have labels. */
export interface TallyInput extends Pick<LabelChunksInput, 'context' | 'plan' | 'trajectories' | 'candidates'> {
  /** Number of the labelling run, from 0 in this identification. */
  run: number;
  /** JSON array of Candidate: all of this identification. */
  discovered: ArtifactRef;
  /** Counts of this run. */
  totals: LabelChunkResult;
  /** Tally of the previous run; null for the first. */
  previous: ArtifactRef | null;
}

/** The findings of a labelling run, and the candidates of the next one. */
export interface TallyResult {
  /** JSON: the labels of this run, and a reference to the tally of the run before. */
  tally: ArtifactRef;
  /** JSON array of Candidate: those that need another run. Null if no candidate needs one, or if no run is left. */
  open: ArtifactRef | null;
  /** One line for people. */
  note: string;
}

/** Input of `contrastCapabilities`. */
export interface ContrastInput extends Pick<IdentifyInput, 'context' | 'independent' | 'measures'> {
  trajectories: ArtifactRef;
  discovery: DiscoveryResult;
  /** Tally of the last labelling run; null without candidates. */
  tally: ArtifactRef | null;
  /** Counts of all labelling runs. */
  totals: LabelChunkResult;
  /** JSON of Experiments. Absent: none was played. */
  experiments?: ArtifactRef;
}

/** Input of `playExperiments`. */
export interface ExperimentInput {
  context: RunContext;
  /** JSON array of ExperimentQuestion. */
  questions: ArtifactRef;
}

/** Result of `contrastCapabilities`. */
export interface ContrastResult extends IdentifyResult {
  /** Questions that the labels leave open. Absent: none; the verdicts are final. */
  questions?: ArtifactRef;
}

/** Result of `identifyCapabilities`. */
export interface IdentifyResult {
  /** JSON of Identification. */
  identification: ArtifactRef;
  /** JSONL of ConsensusLabel, by trajectory and candidate. */
  labels: ArtifactRef;
  /** Capabilities to sharpen. */
  kept: CapabilityBrief[];
  /** Number of candidates. */
  candidates: number;
  /** Episodes of earlier nights among those that were labelled. Absent: none. */
  earlier?: number;
  /** Candidates that cannot be trained, each with the reason for people. Absent: none. */
  untrainable?: { id: string; reason: string }[];
  /** JSON of Experiments. Absent: none was played. */
  experiments?: ArtifactRef;
  tokens: TokenUse[];
}

/** Input of `studyStability`. */
export interface StudyInput {
  /** Also the workflow id. */
  studyId: string;
  agent: string;
  /** Number of independent identifications. */
  identifications: number;
  /** The run whose trajectories are used. Null: the agent's last run that has trajectories. */
  sourceRun: string | null;
}

/** The input of a study's identifications. */
export interface StudyPlan {
  /** Its spec is frozen and allows one labelling run for each identification; `runId` is the study's. */
  context: RunContext;
  sourceRun: string;
  collected: RolloutSummary;
}

/** Input of `recordIdentification`: one identification of a study. */
export interface StudyRecord {
  plan: StudyPlan;
  /** Seed of this identification. */
  seed: number;
  identified: Pick<IdentifyResult, 'identification' | 'labels'>;
  /** The record so far; null for the first identification. */
  previous: ArtifactRef | null;
}

/** Result of `studyStability`. */
export interface StudyResult {
  /** Absolute directory with study.html, study.json and stability.svg. */
  directory: string;
  json: ArtifactRef;
  html: ArtifactRef;
  /** One line for people. */
  summary: string;
}
