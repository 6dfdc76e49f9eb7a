import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TrainerGroup } from './trainer-group';
import { fileNames } from './files';

const folder = (directory: string): string => join(directory, 'checkpoints');

/** The iteration of a training's newest checkpoint; 0 when there is none. */
async function newestCheckpoint(directory: string): Promise<number> {
  const names = await fileNames(folder(directory));
  return Math.max(0, ...names.map((name) => Number(/^iteration-(\d+)$/.exec(name)?.[1] ?? 0)));
}

/**
 * The sum, over a group's trainings, of the iterations of their newest checkpoints: it grows whenever one of them
 * advances.
 */
export async function checkpointedIterations({ members }: Pick<TrainerGroup, 'members'>): Promise<number> {
  const newest = await Promise.all(members.map(({ directory }) => newestCheckpoint(directory)));
  return newest.reduce((sum, iteration) => sum + iteration, 0);
}

/** Removes the checkpoints of a training whose adapter is in the store. Files that cannot be removed stay. */
export async function removeCheckpoints(directory: string): Promise<void> {
  await rm(folder(directory), { recursive: true, force: true }).catch(() => undefined);
}
