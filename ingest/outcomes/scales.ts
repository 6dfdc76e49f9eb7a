import type { Scored } from '../fragment';
import { isOffScale } from './outcome-value';

/**
 * Notes which scores have another scale than 0 to 1, as one value outside of it shows: of stars from 1 to 5, a single
 * one is the worst, although 1 is the best elsewhere.
 */
export class Scales {
  private readonly others = new Set<string>();

  /** Notes a score, before `isOther` is asked. */
  add(score: Scored): void {
    if (score.passesFrom === undefined && isOffScale(score.value)) this.others.add(keyOf(score));
  }

  /** Whether scores of this name have another scale. */
  isOther(score: Scored): boolean {
    return this.others.has(keyOf(score));
  }
}

const keyOf = ({ name, from }: Scored): string => `${from} ${name}`;
