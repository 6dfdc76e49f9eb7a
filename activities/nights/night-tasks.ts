import type { SeedRanges } from '../../contracts/messages/night-stage';
import { blockOfSeeds } from '../block-of-seeds';

/** Each arm of a measuring night plays this share of the rollouts of a full collect. */
const SHARE = 1 / 8;

/** Fewest tasks of a block: with fewer, intervals are too wide to decide anything. */
const LEAST_TASKS = 20;

type TrainTasks = { start: number; count: number };

const blockSize = (train: TrainTasks, trials: number): number =>
  Math.min(train.count, Math.max(LEAST_TASKS, Math.floor(train.count * trials * SHARE)));

/** Whether a night plays every train task, so that there is no next block. */
export const playsEveryTask = (train: TrainTasks, trials: number): boolean => blockSize(train, trials) === train.count;

/**
 * The train tasks of a measuring night: of night n, block n.
 * @param night from 1.
 * @param isWatched whether something drifts: the night then plays the next block as well. Default: false.
 */
export function nightTasks(train: TrainTasks, trials: number, night: number, isWatched = false): SeedRanges {
  const size = blockSize(train, trials);
  return blockOfSeeds(train, size, night, isWatched ? Math.min(train.count, 2 * size) : size);
}
