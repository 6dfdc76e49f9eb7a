/** Chooses the arm that gets a conversation. Evaluation and the gateway call the same function. */
import type { RoutingRecord } from '../contracts/artifacts/evaluation';
import { MIXED, NONE_LABEL } from '../contracts/names';
import { openFirstOfTwo } from './first-of-two';
import type { ArmChoice } from './kind';
import { chooserOf, menuOf, type Router } from './kinds';
import { openSeveralNeeds } from './several-needs';

/** A router that is ready to choose. */
export interface ArmChooser {
  /** The menu for the base model, whose answer `choose` needs; null for routers that ask no model. */
  menu: readonly { id: string; summary: string }[] | null;
  /**
   * The choice for a conversation that opens with this text. `answer` is the base model's answer to the menu.
   * @throws TypeError if the router needs an answer and gets none.
   */
  choose(opening: string, answer: RoutingRecord | null): ArmChoice;
}

/**
 * Reads a router.
 * @param served capabilities that have an adapter; the base model gets the conversations of all others.
 */
export function openRouter(router: Router, served?: readonly string[]): ArmChooser {
  const left = new Set(router.leftOut);
  const choose = chooserOf(router);
  const firstOfTwo = openFirstOfTwo(router, served);
  const severalNeeds = openSeveralNeeds(router, served);
  // The mixed adapter was trained for both of two needs. It is not used if it harms, or if there is none.
  const keepsChoice = ({ capabilityId }: ArmChoice) =>
    capabilityId === MIXED && !left.has(MIXED) && (served?.includes(MIXED) ?? true);
  return {
    menu: menuOf(router),
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
