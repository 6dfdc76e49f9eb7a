import type { Contrast, IdentifyArm } from '../../../contracts/artifacts/identification';
import { contentKey } from '../../../llm';
import { contrastCandidates, rankByWeight, rankKept, type LabelledCandidate } from '../verdicts/contrast-candidates';
import type { TrajectoryOutcomes } from '../verdicts/task-sums';
import type { VerdictRule } from '../verdicts/verdict-rule';

/** The data from which every arm chooses capabilities. */
export interface SelectionInput {
  candidates: readonly LabelledCandidate[];
  outcomes: TrajectoryOutcomes;
  /** Contrasts of the same candidates over all labelling runs. */
  contrasts: readonly Contrast[];
  rule: VerdictRule;
  seed: number;
}

/**
 * Ids of the capabilities that an arm chooses, most important first.
 *
 * - `contrast`: the method, with its verdicts;
 * - `failures-only`: without contrast with the successes. It chooses capabilities that enough failures lack, on average
 *   over the runs, with the largest coverage first;
 * - `random`: the same number as `contrast` keeps, drawn from all candidates by the seed;
 * - `single-run`: the method on only the first labelling run.
 */
export function chooseByArm(
  arm: IdentifyArm,
  { candidates, outcomes, contrasts, rule, seed }: SelectionInput,
): string[] {
  switch (arm) {
    case 'contrast':
      return rankKept(contrasts);
    case 'failures-only':
      return [...contrasts]
        .filter(({ coverage }) => coverage >= rule.minCoverage)
        .sort((a, b) => b.coverage - a.coverage || (a.capabilityId < b.capabilityId ? -1 : 1))
        .map(({ capabilityId }) => capabilityId);
    case 'random': {
      const rank = (id: string) => contentKey('random-arm', String(seed), id);
      const drawn = [...contrasts]
        .sort((a, b) => (rank(a.capabilityId) < rank(b.capabilityId) ? -1 : 1))
        .slice(0, rankKept(contrasts).length);
      return rankByWeight(drawn);
    }
    case 'single-run': {
      const first = candidates.map(({ id, labels }) => ({ id, labels: labels.slice(0, 1) }));
      return rankKept(contrastCandidates(first, outcomes, { ...rule, runs: 1, quorum: 1 }));
    }
  }
}
