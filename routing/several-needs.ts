/**
 * Whether an opening calls for several capabilities, so that the mixed adapter gets it. Evaluation and the gateway call
 * the same function (docs/adr/0020).
 */
import type { Router } from './kinds';
import { MIXED } from '../contracts/names';
import { type NeedProbability, needReader } from './need-reader';

/** The mixed adapter for an opening with several needs, as sure as the second of them is; null for other openings. */
export type SeveralNeedsReader = (opening: string) => NeedProbability | null;

/**
 * Opens a router's model of openings with several needs; null when it has none.
 * @param served capabilities whose adapters there are; without the mixed one nothing can go to it.
 */
export function openSeveralNeeds(router: Router, served?: readonly string[]): SeveralNeedsReader | null {
  if (!('severalNeeds' in router) || router.severalNeeds === undefined) return null;
  if (served?.includes(MIXED) === false) return null;
  const { vocabulary, needs, threshold } = router.severalNeeds;
  const needsOf = needReader({ vocabulary, needs });
  return (opening) => {
    const second = needsOf(opening).sort((a, b) => b.probability - a.probability)[1];
    return second !== undefined && second.probability >= threshold
      ? { capabilityId: MIXED, probability: second.probability }
      : null;
  };
}
