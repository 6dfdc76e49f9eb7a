import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { failure } from '../contracts/typed-failure';
import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import type { StageName } from '../contracts/names';
import type { ArtifactStore } from '../store';
import { modelDirectorySha256 } from '../store/model-hash';
import { Progress } from './progress';
import { storedFileHashes } from './stored-file-hashes';

const MB = 1e6;

/**
 * Hashes the directory of a base model and sends heartbeats meanwhile. Files that have not changed since their last
 * hash are not read again. Must run inside an activity. Rejects when the directory cannot be read.
 */
export async function hashBaseModel(store: ArtifactStore, directory: string, stage: StageName): Promise<string> {
  using progress = new Progress({ stage, unit: 'MB', total: 0, note: `hashing the base model ${directory}` });
  return await modelDirectorySha256(directory, {
    hashes: storedFileHashes(store),
    signal: Context.current().cancellationSignal,
    onProgress: (done, total) => progress.setDone(rounded(done / MB), rounded(total / MB)),
  });
}

/**
 * Checks that the directory of the base model has not changed since the run began. A worker checks nothing if it cannot
 * see the directory, because only the trainers mount it. The trainer's manifest then names the model that the trainer
 * used.
 * @throws Model.Changed.
 */
export async function requireFrozenBaseModel(
  store: ArtifactStore,
  { modelPath, baseModelSha256 }: Pick<PreparedSpec, 'modelPath' | 'baseModelSha256'>,
  stage: StageName,
): Promise<void> {
  if (modelPath === null || !(await isVisible(modelPath))) return;
  const found = await hashBaseModel(store, modelPath, stage);
  if (found !== baseModelSha256) throw baseModelChanged(modelPath, baseModelSha256, found);
}

/** The directory of the base model of a run that trains. @throws Error for a run that ends before. */
export function trainedModelPath({ modelPath }: Pick<PreparedSpec, 'modelPath'>): string {
  if (modelPath === null) throw new Error('A run that ends before it trains has no base model to train.');
  return modelPath;
}

/** Whether this machine can read a base model: in a cluster it may be mounted only for the trainers. */
export const isVisible = (modelPath: string): Promise<boolean> =>
  access(join(modelPath, 'config.json')).then(
    () => true,
    () => false,
  );

/** The failure for a directory that no longer holds the base model with which the run began. */
export function baseModelChanged(modelPath: string, began: string, now: string): Error {
  return failure(
    'Model.Changed',
    `The run began with the base model ${began.slice(0, 12)}… in ${modelPath} (model.path). The directory now holds ` +
      `${now.slice(0, 12)}…. Put the first model back.`,
  );
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
