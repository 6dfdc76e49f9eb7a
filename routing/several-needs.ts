/**
 * Decides whether an opening needs several capabilities, so that the mixed adapter gets it. Evaluation and the gateway
 * call the same function (docs/adr/0020).
 */
import type { Router } from './kinds';
import { MIXED } from '../contracts/names';
import { likeliestFirst, type NeedProbability, needReader } from './need-reader';
import type { SeveralNeedsModel } from './router-parts';

/**
 * The mixed adapter for an opening with several needs, with the probability of the second of them; null for other
 * openings.
 */
type SeveralNeedsReader = (opening: string) => NeedProbability | null;

/**
 * Opens a router's model of openings with several needs; null if it has none.
 * @param served capabilities that have an adapter; without the mixed one, no opening gets it.
 */
export function openSeveralNeeds(router: Router, served?: readonly string[]): SeveralNeedsReader | null {
  if (!('severalNeeds' in router) || router.severalNeeds === undefined) return null;
  return served?.includes(MIXED) === false ? null : severalNeedsReader(router.severalNeeds);
}

/** Reads openings with several needs. */
export function severalNeedsReader({ threshold, ...models }: SeveralNeedsModel): SeveralNeedsReader {
  const needsOf = needReader(models);
  return (opening) => {
    const second = likeliestFirst(needsOf(opening))[1];
    return second !== undefined && second.probability >= threshold ? { ...second, capabilityId: MIXED } : null;
  };
}
