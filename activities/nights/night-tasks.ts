import type { SeedRanges } from '../../contracts/messages/night-stage';
import { blockOfSeeds } from '../block-of-seeds';

/** In a measuring night, each arm plays this share of the rollouts of a full collection. */
const SHARE = 1 / 8;

/** Fewest tasks of a block: with fewer, intervals are too wide for any decision. */
const LEAST_TASKS = 20;

type TrainTasks = { start: number; count: number };

const blockSize = (train: TrainTasks, trials: number): number =>
  Math.min(train.count, Math.max(LEAST_TASKS, Math.floor(train.count * trials * SHARE)));

/** Whether a night plays every train task, so that there is no next block. */
export const playsEveryTask = (train: TrainTasks, trials: number): boolean => blockSize(train, trials) === train.count;

/**
 * The train tasks of a measuring night: night n plays block n.
 * @param night from 1.
 * @param isWatched whether a capability drifts: the night then also plays the next block. Default: false.
 */
export function nightTasks(train: TrainTasks, trials: number, night: number, isWatched = false): SeedRanges {
  const size = blockSize(train, trials);
  return blockOfSeeds(train, size, night, isWatched ? Math.min(train.count, 2 * size) : size);
}
