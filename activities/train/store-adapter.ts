import { randomBytes } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { TrainedAdapter, TrainingManifest } from '../../contracts/artifacts/training';
import { watchClause } from '../../contracts/artifacts/watch-words';
import { failure } from '../../contracts/typed-failure';
import { type ArtifactStore, layout } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import type { PlannedJob } from './training-job';

/** The clause about what the probes of a training decided, if it is worth a line. */
function watchedOf({ watch }: TrainingManifest): Pick<TrainedAdapter, 'watched'> {
  const watched = watch === undefined ? null : watchClause(watch);
  return watched === null ? {} : { watched };
}

/**
 * Copies the adapter of a finished job into the store, where its hash is its name. It is copied rather than moved, so
 * that another attempt still finds a finished job in the job's directory.
 * @param name name of the adapter: a capability, or `mixed`.
 * @throws Trainer.Died if the adapter's hash is not the one in the manifest.
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
      const hashes = `sha256 ${found.slice(0, 12)}…, but its manifest says ${sha256.slice(0, 12)}…`;
      // The next attempt sets the manifest aside and trains again from the last checkpoint.
      throw failure('Trainer.Died', `The adapter in ${source} has ${hashes}. It is trained again.`);
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
      ...watchedOf(manifest),
      ...(manifest.beginsFrom && {
        beginsFrom: { name: manifest.beginsFrom.name, version: manifest.beginsFrom.version },
      }),
    };
  } finally {
    // The copy still exists if the store already had the adapter, or if a step failed.
    await rm(copy, { recursive: true, force: true });
  }
}
