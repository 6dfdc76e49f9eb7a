/** Conversations that may change their adapter at a later message. */
import type { LaterMessages } from '../../../contracts/artifacts/router-choice';
import type { ArmChoice } from '../../../routing/kind';
import type { LaterTurnsReader } from '../../../routing/later-turns';

/** For each train task, its later messages as read by a model that did not learn from it. */
export interface CrossFittedMoves {
  reads: LaterMessages;
  readers: readonly LaterTurnsReader[];
  /** The adapter to which base's conversation changes; null where it stays. */
  moves: readonly (ArmChoice | null)[];
  /** The first request of an opening with two needs; null for other openings. */
  firsts: readonly (string | null)[];
}

/** A train task that is played with its changes of adapter. */
export interface Moving {
  /** `moves`: it begins with the router's choice. `first`: it begins with the first request. */
  way: 'moves' | 'first';
  seed: number;
  opening: string;
  /** The other adapter. */
  to: string;
  reader: LaterTurnsReader;
}

/** Tells the two ways of playing a task apart. */
export const nameOfMoving = ({ seed, way }: Pick<Moving, 'seed' | 'way'>): string => `${seed} ${way}`;
