import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TrainingFailure, trainingFailureSchema } from '../../../contracts/artifacts/training';
import { readIfExists } from '../../../store';

const failurePath = (directory: string) => join(directory, 'failure.json');
const cancelPath = (directory: string) => join(directory, 'cancel');

/** Reads the failure of a training whose trainer may go on with others; null while there is none. */
export async function readTrainingFailure(directory: string): Promise<TrainingFailure | null> {
  const text = await readIfExists(failurePath(directory));
  return text === null ? null : trainingFailureSchema.parse(JSON.parse(text));
}

/** Asks the trainer to drop this training after the iteration under way. */
export function requestCancel(directory: string): Promise<void> {
  return writeFile(cancelPath(directory), '');
}

/** Removes failure and cancel request of an earlier trainer, before another one is started. */
export async function clearMemberFiles(directory: string): Promise<void> {
  await rm(failurePath(directory), { force: true });
  await rm(cancelPath(directory), { force: true });
}
