import { LABEL_CODES } from '../verdicts/label-codes';
import type { TrajectoryOutcomes } from '../verdicts/task-sums';
import { type CausesOfFailure, fitCauses } from './causes-of-failure';

/** Labels and outcomes of all episodes, with the joint model of how lacks fail them. */
export interface LabelledEpisodes {
  /** Consensus label codes, by candidate and trajectory. */
  labels: readonly Uint8Array[];
  /** 1 for LACKING, by candidate and trajectory. */
  lacks: readonly Uint8Array[];
  /** 1 for a failure, by trajectory. */
  failed: Uint8Array;
  outcomes: TrajectoryOutcomes;
  causes: CausesOfFailure;
}

/** Fits the joint model. `labels` has the consensus label codes of each candidate, indexed by trajectory. */
export function labelledEpisodes(labels: readonly Uint8Array[], outcomes: TrajectoryOutcomes): LabelledEpisodes {
  const failed = outcomes.success.map((success) => 1 - success);
  const lacks = labels.map((codes) => codes.map((code) => (code === LABEL_CODES.LACKING ? 1 : 0)));
  return { labels, lacks, failed, outcomes, causes: fitCauses(lacks, failed) };
}
