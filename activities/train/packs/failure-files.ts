import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type TrainingFailure, trainingFailureSchema } from '../../../contracts/artifacts/training';
import { FAILURES, type FailureType } from '../../../contracts/failures/run';
import { createFile } from '../../../store';
import { readJsonFile } from '../files';
import type { TrainerGroup } from '../trainer-group';

const failurePath = (directory: string) => join(directory, 'failure.json');
const cancelPath = (directory: string) => join(directory, 'cancel');

/** Reads the failure of a training whose trainer may continue with others; null if there is none. */
export const readTrainingFailure = (directory: string): Promise<TrainingFailure | null> =>
  readJsonFile(failurePath(directory), trainingFailureSchema);

/** Asks the trainer to drop this training after the current iteration. */
export const requestCancel = (directory: string): Promise<void> => writeFile(cancelPath(directory), '');

/** Removes the failure and the cancel request of an earlier trainer before another one is started. */
export async function clearMemberFiles(directory: string): Promise<void> {
  await rm(failurePath(directory), { force: true });
  await rm(cancelPath(directory), { force: true });
}

const packFailureSchema = z.object({
  type: z.enum(Object.keys(FAILURES) as [FailureType, ...FailureType[]]),
  message: z.string(),
});
/** The failure for which a pack's trainer was given up. Every member that is not done fails with it. */
type PackFailure = z.infer<typeof packFailureSchema>;

const packFailurePath = ({ directory }: TrainerGroup) => join(directory, 'verdict.json');

/** Reads why a pack's trainer was given up; null if it was not. */
export const readPackFailure = (group: TrainerGroup): Promise<PackFailure | null> =>
  readJsonFile(packFailurePath(group), packFailureSchema);

/**
 * Records that a pack's trainer is given up for all its members; the first record stays. Called before the trainer is
 * removed, because a member's attempt that sees neither trainer nor record would start it again.
 */
export async function recordPackFailure(group: TrainerGroup, failure: PackFailure): Promise<void> {
  await createFile(packFailurePath(group), `${JSON.stringify(failure, null, 2)}\n`);
}
