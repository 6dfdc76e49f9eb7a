import { basename } from 'node:path';
import type { TrainingManifest } from '../../../contracts/artifacts/training';
import { failure } from '../../../contracts/typed-failure';
import { readManifest } from '../adopt-adapter';
import type { Training } from '../backend';
import { trainingFailure } from '../trainer-failure';
import { crewText, isShared, leftFolder, namesIn } from './crew';
import { readTrainingFailure } from './member-files';
import { readVerdict } from './verdict';

/**
 * How a training ended, whatever its trainer does meanwhile: its manifest; null while it has not ended.
 * @throws Trainer.* when it failed in a trainer that it shares, or when that trainer was given up. A training alone
 *   ends with its trainer.
 */
export async function ownEnd(training: Training): Promise<TrainingManifest | null> {
  const { input, planned, crew } = training;
  const manifest = await readManifest(planned.directory);
  if (manifest !== null || !isShared(crew)) return manifest;
  const failed = await readTrainingFailure(planned.directory);
  if (failed !== null) throw trainingFailure(training, failed);
  const verdict = await readVerdict(crew);
  if (verdict !== null) throw failure(verdict.type, verdict.message);
  if ((await namesIn(leftFolder(crew))).includes(basename(planned.directory))) {
    throw failure(
      'Trainer.Died',
      `Another attempt has taken the training of ${input.job} out of the trainer of ${crewText(crew)}.`,
    );
  }
  return null;
}
