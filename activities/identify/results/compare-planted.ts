import type { Identification } from '../../../contracts/artifacts/identification';
import { jaccard } from '../../statistics/jaccard';

/** Smallest Jaccard index at which a capability counts as the planted deficit. */
const MIN_JACCARD = 0.5;

/** The kept capabilities and the planted deficits. */
export interface PlantedComparison {
  /** Diagnostics ids of the planted deficits, and of the decoys. */
  planted: readonly string[];
  decoys: readonly string[];
  /** Ids of the kept capabilities. */
  kept: readonly string[];
  /** Trajectories in which a capability is labelled LACKING, by capability id. */
  labelled: ReadonlyMap<string, ReadonlySet<number>>;
  /** Trajectories whose diagnostics say "lacking", by diagnostics id. */
  truth: ReadonlyMap<string, ReadonlySet<number>>;
}

/**
 * Compares kept capabilities with planted deficits, not by name but by the trajectories that lack them. Pairs with a
 * Jaccard index of at least `MIN_JACCARD` are matched one to one, the best first, ties by name.
 */
export function comparePlanted(input: PlantedComparison): NonNullable<Identification['planted']> {
  const truths = [...input.planted, ...input.decoys];
  const pairs = input.kept
    .flatMap((capabilityId) =>
      truths.map((planted) => ({
        planted,
        capabilityId,
        jaccard: jaccard(input.labelled.get(capabilityId), input.truth.get(planted)),
      })),
    )
    .filter((pair) => pair.jaccard >= MIN_JACCARD)
    .sort(
      (a, b) => b.jaccard - a.jaccard || (`${a.planted} ${a.capabilityId}` < `${b.planted} ${b.capabilityId}` ? -1 : 1),
    );
  const matched: typeof pairs = [];
  for (const pair of pairs) {
    if (!matched.some((m) => m.planted === pair.planted || m.capabilityId === pair.capabilityId)) matched.push(pair);
  }
  const found = matched.filter((m) => input.planted.includes(m.planted));
  return {
    found,
    missed: input.planted.filter((planted) => !found.some((m) => m.planted === planted)),
    invented: input.kept.filter((capabilityId) => !found.some((m) => m.capabilityId === capabilityId)),
    decoysKept: input.decoys.filter((decoy) => matched.some((m) => m.planted === decoy)),
  };
}
