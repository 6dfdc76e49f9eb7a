/**
 * Finds the capability that an opening asks for first when it asks for two. Evaluation and the gateway call the same
 * function (docs/adr/0018).
 */
import type { Router } from './kinds';
import { likeliestFirst, type NeedProbability, needReader } from './need-reader';
import type { NeedModels } from './router-parts';

/** Longer openings are cut, like later messages, because finding the order in a long one would delay the gateway. */
const MOST_CHARACTERS = 2_000;

/** Largest number of places where an opening is cut in two, spread evenly over its words. */
const MOST_CUTS = 24;

/** The need that an opening asks for first; null unless it needs exactly two capabilities. */
type FirstOfTwoReader = (opening: string) => NeedProbability | null;

/**
 * Opens a router's model of openings with two needs; null if it has none.
 * @param served capabilities that have an adapter.
 */
export function openFirstOfTwo(router: Router, served?: readonly string[]): FirstOfTwoReader | null {
  if (!('laterTurns' in router) || router.laterTurns?.twoNeeds === undefined) return null;
  return firstOfTwoReader(
    { ...router.laterTurns, twoNeeds: router.laterTurns.twoNeeds },
    (capabilityId) => !router.leftOut.includes(capabilityId) && (served?.includes(capabilityId) ?? true),
  );
}

/** Reads openings with two needs. Both needs must be served. */
export function firstOfTwoReader(
  { vocabulary, needs, twoNeeds }: NeedModels & { twoNeeds: { threshold: number } },
  isServed: (capabilityId: string) => boolean = () => true,
): FirstOfTwoReader {
  const needsOf = needReader({ vocabulary, needs });
  return (opening) => {
    const text = opening.slice(0, MOST_CHARACTERS);
    const called = needsOf(text).filter(({ probability }) => probability >= twoNeeds.threshold);
    const [one, other] = likeliestFirst(called);
    if (one === undefined || other === undefined || called.length > 2) return null;
    if (!isServed(one.capabilityId) || !isServed(other.capabilityId)) return null;
    return comesFirst(needsOf, text, one.capabilityId, other.capabilityId) ? one : other;
  };
}

/**
 * Whether `one` is asked for before `other`. The text is cut in two at each of its words. The order comes from the cut
 * whose two parts most clearly show one need each. At a tie, `one` comes first.
 */
function comesFirst(needsOf: (text: string) => NeedProbability[], text: string, one: string, other: string): boolean {
  const words = [...text.matchAll(/[\p{L}\p{N}]+/gu)].map(({ index }) => index).slice(1);
  const step = Math.max(1, Math.ceil(words.length / MOST_CUTS));
  let lead = 0;
  for (const cut of words.filter((_, place) => place % step === 0)) {
    const parts = [text.slice(0, cut), text.slice(cut)].map(
      (part) => new Map(needsOf(part).map(({ capabilityId, probability }) => [capabilityId, probability])),
    );
    const clarity = (first: string, second: string) => Math.min(parts[0]!.get(first) ?? 0, parts[1]!.get(second) ?? 0);
    const [ahead, behind] = [clarity(one, other), clarity(other, one)];
    if (Math.max(ahead, behind) > Math.abs(lead)) lead = ahead >= behind ? ahead : -behind;
  }
  return lead >= 0;
}
