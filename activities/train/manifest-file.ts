import { rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type TrainingManifest, trainingManifestSchema } from '../../contracts/artifacts/training';
import { modelDirectorySha256 } from '../../store/model-hash';
import { readJsonFile } from './files';

const path = (directory: string): string => join(directory, 'manifest.json');

/** Reads a training's manifest; null if there is none yet. Throws ZodError if the file is not a manifest. */
export const readManifest = (directory: string): Promise<TrainingManifest | null> =>
  readJsonFile(path(directory), trainingManifestSchema);

/**
 * Reads the manifest that an earlier attempt left. If the manifest or its adapter is damaged, or the adapter is
 * missing, the manifest is renamed to manifest.damaged.json. Then the training continues from its last checkpoint.
 * @param onDamage receives a sentence that says what is damaged.
 */
export async function takeManifest(
  directory: string,
  onDamage: (sentence: string) => void,
): Promise<TrainingManifest | null> {
  let damage: string;
  try {
    const manifest = await readManifest(directory);
    if (manifest === null) return null;
    const found = await modelDirectorySha256(resolve(directory, manifest.adapterDir)).catch(() => null);
    if (found === manifest.adapterSha256) return manifest;
    damage = `the files in ${manifest.adapterDir} are not those that it names`;
  } catch {
    damage = 'it is no manifest';
  }
  await rename(path(directory), join(directory, 'manifest.damaged.json'));
  onDamage(`manifest.json of ${directory} was set aside, since ${damage}: it is trained again`);
  return null;
}
