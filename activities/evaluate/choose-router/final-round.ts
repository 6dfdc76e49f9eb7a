import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import type { Decisions } from './competition';
import type { CrossFitted } from './decisions';

/** The result of the last comparison. */
export interface FinalRound {
  mixed: CrossFitted;
  /** `outcomes-mixed`, before adapters that harm are left out. */
  whole: CrossFitted;
  /** The same as it would be served. */
  learned: Decisions;
  /** Each adapter, and the mixed one, through it. */
  adapters: RouterChoice['adapters'];
  /**
   * `first`: the tasks on which all finalists were compared. `last`: the tasks on which the remaining finalists were
   * compared.
   */
  first: readonly number[];
  last: readonly number[];
  left: readonly Decisions[];
  mixedOnBaseTasks: RouterChoice['mixedOnBaseTasks'] | null;
  winner: Decisions;
}

/** Tasks on which two of them were compared. */
export const comparedIn = ({ left, first, last }: FinalRound, one: Decisions, other: Decisions): readonly number[] =>
  left.includes(one) && left.includes(other) ? last : first;
