import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TrainingFailure, trainingFailureSchema } from '../../../contracts/artifacts/training';

const failurePath = (directory: string) => join(directory, 'failure.json');
const cancelPath = (directory: string) => join(directory, 'cancel');

/** What the training ended with in a trainer that went on with others; null while it has not. */
export async function readTrainingFailure(directory: string): Promise<TrainingFailure | null> {
  const text = await readFile(failurePath(directory), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : trainingFailureSchema.parse(JSON.parse(text));
}

/** Tells the trainer that nobody waits for this training any more: it leaves it out after the iteration. */
export function requestCancel(directory: string): Promise<void> {
  return writeFile(cancelPath(directory), '');
}

/** Removes what an earlier trainer was told and said, before another one is started. */
export async function clearMemberFiles(directory: string): Promise<void> {
  await rm(failurePath(directory), { force: true });
  await rm(cancelPath(directory), { force: true });
}
