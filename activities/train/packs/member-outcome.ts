import { basename } from 'node:path';
import type { TrainingManifest } from '../../../contracts/artifacts/training';
import { failure } from '../../../contracts/typed-failure';
import { readManifest } from '../store-adapter';
import type { Training } from '../backend';
import { trainingFailure } from '../trainer-failure';
import { memberNames, isShared, leftFolder, fileNames } from '../trainer-group';
import { readTrainingFailure } from './member-files';
import { readPackFailure } from './pack-failure';

/**
 * How a training ended, whatever its trainer does meanwhile: its manifest; null while it has not ended.
 * @throws Trainer.* when it failed in a trainer that it shares, or when that trainer was given up. A training alone
 *   ends with its trainer.
 */
export async function memberOutcome(training: Training): Promise<TrainingManifest | null> {
  const { input, planned, group } = training;
  const manifest = await readManifest(planned.directory);
  if (manifest !== null || !isShared(group)) return manifest;
  const failed = await readTrainingFailure(planned.directory);
  if (failed !== null) throw trainingFailure(training, failed);
  const verdict = await readPackFailure(group);
  if (verdict !== null) throw failure(verdict.type, verdict.message);
  if ((await fileNames(leftFolder(group))).includes(basename(planned.directory))) {
    throw failure(
      'Trainer.Died',
      `Another attempt has taken the training of ${input.job} out of the trainer of ${memberNames(group)}.`,
    );
  }
  return null;
}
