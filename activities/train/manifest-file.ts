import { join } from 'node:path';
import { type TrainingManifest, trainingManifestSchema } from '../../contracts/artifacts/training';
import { readIfExists } from '../../store';

/** Reads a training's manifest; null while there is none. Throws ZodError when the file is not a manifest. */
export async function readManifest(directory: string): Promise<TrainingManifest | null> {
  const text = await readIfExists(join(directory, 'manifest.json'));
  return text === null ? null : trainingManifestSchema.parse(JSON.parse(text));
}
