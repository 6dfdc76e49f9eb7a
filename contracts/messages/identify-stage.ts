/**
 * Inputs and results of identification and of its study. Types only, so that workflow code may import them. Everything
 * large is a reference.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { CapabilityBrief, RunContext, TokenUse } from './run-context';
import type { RolloutSummary } from '../artifacts/trajectory';

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
   * For studies: an identification that knows nothing of the agent's dictionary and leaves nothing in it. Its labelling
   * runs count from `firstRun`, so that its labels are its own.
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
