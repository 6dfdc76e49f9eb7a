import { failure } from '../../../contracts/typed-failure';
import type { Training } from '../backend';
import { trainingFailure } from '../trainer-failure';
import { hasLeft, isShared, memberNames } from '../trainer-group';
import { readPackFailure, readTrainingFailure } from './failure-files';

/**
 * The outcome of one training, even if its trainer continues: its manifest, or null if it has not ended. A single
 * training's only outcome is its manifest; the caller judges how its trainer ended.
 * @throws Trainer.* if the training failed in a shared trainer, if that trainer was given up, or if another attempt has
 *   removed the training from it.
 */
export async function memberOutcome<Manifest>(training: Training<Manifest>): Promise<Manifest | null> {
  const { input, planned, group } = training;
  const manifest = await training.readManifest(planned.directory);
  if (manifest !== null || !isShared(group)) return manifest;
  const own = await readTrainingFailure(planned.directory);
  if (own !== null) throw trainingFailure(training, own);
  const shared = await readPackFailure(group);
  if (shared !== null) throw failure(shared.type, shared.message);
  if (await hasLeft(group, planned.directory)) {
    throw failure(
      'Trainer.Died',
      `Another attempt has taken the training of ${input.job} out of the trainer of ${memberNames(group)}.`,
    );
  }
  return null;
}
