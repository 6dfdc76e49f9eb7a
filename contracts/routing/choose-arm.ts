/** Which arm gets a conversation. Evaluation and the gateway call the same function. */
import type { RoutingRecord } from '../artifacts/evaluation';
import type { CompetitionRouter } from '../artifacts/router';
import { MIXED, NONE_LABEL } from '../names';
import { openFirstOfTwo } from './first-of-two';
import { type NeedProbability, needReader } from './need-reader';
import { openOutcomes } from './outcomes';
import { calibratedChoice } from './routing-decision';
import { openSeveralNeeds } from './several-needs';

/** A router's choice for one conversation. */
export interface ArmChoice {
  /** A capability, or `none` for the base model. */
  capabilityId: string;
  /** How sure the router is, in [0, 1]. */
  probability: number;
  /** Why, in one or two words, for the header x-whet-route. */
  reason: 'routed' | 'abstained' | 'left-out' | 'not-in-version' | 'later-turn' | 'first-of-two' | 'several-needs';
}

/** A router that is ready to choose. */
export interface ArmChooser {
  /** The menu for the base model, whose answer `choose` needs; null for routers that ask nobody. */
  menu: readonly { id: string; summary: string }[] | null;
  /**
   * The choice for a conversation that opens with this text. `answer` is what the base model said to the menu.
   * @throws TypeError without the answer that the router needs.
   */
  choose(opening: string, answer: RoutingRecord | null): ArmChoice;
}

/** A need is served when it is more likely than not. */
const LEAST_PROBABILITY = 0.5;

/**
 * Reads a router.
 * @param served capabilities whose adapters there are; the base model gets what a router gives to another.
 */
export function openRouter(router: CompetitionRouter, served?: readonly string[]): ArmChooser {
  const left = new Set(router.leftOut);
  const choose = chooserOf(router);
  const firstOfTwo = openFirstOfTwo(router, served);
  const severalNeeds = openSeveralNeeds(router, served);
  // The mixed adapter was trained for both of two needs. Not where it harms, or where there is none.
  const keepsChoice = ({ capabilityId }: ArmChoice) =>
    capabilityId === MIXED && !left.has(MIXED) && (served?.includes(MIXED) ?? true);
  return {
    menu: router.kind === 'logits' ? router.capabilities : null,
    choose: (opening, answer) => {
      const several = severalNeeds?.(opening);
      if (several) return { ...several, reason: 'several-needs' };
      const choice = choose(opening, answer);
      const first = keepsChoice(choice) ? null : firstOfTwo?.(opening);
      if (first) return { ...first, reason: 'first-of-two' };
      const { capabilityId } = choice;
      if (left.has(capabilityId)) return { ...choice, capabilityId: NONE_LABEL, reason: 'left-out' };
      const isServed = capabilityId === NONE_LABEL || served === undefined || served.includes(capabilityId);
      return isServed ? choice : { ...choice, capabilityId: NONE_LABEL, reason: 'not-in-version' };
    },
  };
}

function chooserOf(router: CompetitionRouter): ArmChooser['choose'] {
  switch (router.kind) {
    case 'base':
      return () => ({ capabilityId: NONE_LABEL, probability: 1, reason: 'routed' });
    case 'mixed':
      return () => ({ capabilityId: MIXED, probability: 1, reason: 'routed' });
    case 'labels': {
      const needsOf = needReader(router);
      return (opening) => likeliestNeed(needsOf(opening));
    }
    case 'outcomes-mixed':
      return openOutcomes(router);
    case 'logits':
      return (_, answer) => {
        if (answer === null) throw new TypeError('The router `logits` needs the answer of the base model.');
        const { capabilityId, probability, abstained } = calibratedChoice(answer, router);
        return { capabilityId, probability, reason: abstained ? 'abstained' : 'routed' };
      };
  }
}

/** The likeliest need, or `none` when each is less likely than not. */
function likeliestNeed(needs: readonly NeedProbability[]): ArmChoice {
  const best = needs.toSorted((a, b) => b.probability - a.probability)[0] ?? null;
  if (best === null) return { capabilityId: NONE_LABEL, probability: 1, reason: 'routed' };
  return best.probability > LEAST_PROBABILITY
    ? { ...best, reason: 'routed' }
    : { capabilityId: NONE_LABEL, probability: 1 - best.probability, reason: 'routed' };
}
