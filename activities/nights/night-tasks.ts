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
 * The train tasks of a measuring night: night n plays block n, and the next blocks as well if more are wanted.
 * @param night from 1.
 * @param blocks how many blocks it plays. Default: 1.
 */
export function nightTasks(train: TrainTasks, trials: number, night: number, blocks = 1): SeedRanges {
  const size = blockSize(train, trials);
  return blockOfSeeds(train, size, night, Math.min(train.count, blocks * size));
}
