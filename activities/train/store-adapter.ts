import { randomBytes } from 'node:crypto';
import { cp, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type TrainedAdapter, type TrainingManifest, trainingManifestSchema } from '../../contracts/artifacts/training';
import { failure } from '../../contracts/typed-failure';
import { type ArtifactStore, layout } from '../../store';
import { modelDirectorySha256 } from '../model-hash';
import type { PlannedJob } from './training-job';

/** The job's manifest; null while there is none. Throws ZodError for a file that is none. */
export async function readManifest(directory: string): Promise<TrainingManifest | null> {
  let text: string;
  try {
    text = await readFile(join(directory, 'manifest.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return trainingManifestSchema.parse(JSON.parse(text));
}

/**
 * Puts a finished job's adapter under its hash into the store. It is copied rather than moved: the job's directory
 * stays whole, so that starting the job again finds it done.
 * @throws Store.Corrupt when the adapter is not the one that the manifest names.
 */
export async function storeAdapter(
  store: ArtifactStore,
  agent: string,
  name: string,
  planned: PlannedJob,
  manifest: TrainingManifest,
): Promise<TrainedAdapter> {
  const { adapterSha256: sha256 } = manifest;
  const source = resolve(planned.directory, manifest.adapterDir);
  const copy = join(planned.directory, `adopted-${randomBytes(6).toString('hex')}`);
  try {
    await cp(source, copy, { recursive: true });
    const found = await modelDirectorySha256(copy);
    if (found !== sha256) {
      throw failure(
        'Store.Corrupt',
        `The adapter in ${source} has sha256 ${found.slice(0, 12)}…, its manifest says ${sha256.slice(0, 12)}…. Delete ${planned.directory} and train again.`,
      );
    }
    const key = await store.adoptDirectory(layout.adapters(agent), name, sha256, copy);
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    return {
      name: `${name}@${sha256.slice(0, 12)}`,
      capabilityId: name,
      sha256,
      key,
      manifest: await store.put(planned.key, 'manifest.json', text, { mediaType: 'application/json' }),
      rollouts: manifest.rollouts,
      seconds: manifest.seconds.total,
      finalReward: manifest.finalReward,
    };
  } finally {
    // Still there when the store had the adapter already, or when something failed.
    await rm(copy, { recursive: true, force: true });
  }
}
