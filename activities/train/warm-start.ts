import { randomBytes } from 'node:crypto';
import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { type TrainingJob, trainingJobSchema } from '../../contracts/artifacts/training';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { type ArtifactStore, layout, orIfMissing, readIfExists, readRegistry } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import { activeVersion } from '../active-version';
import type { PlannedJob } from './training-job';

/** Copy of the adapter in the job's directory, which is the only part of the store that a trainer sees. */
const FOLDER = 'beginning';

/** The part that is read here. */
const beginsFromSchema = trainingJobSchema.pick({ beginsFrom: true }).strip();

/**
 * Adds the warm-start adapter to a job (docs/adr/0017): the adapter that the job continues, else the active version's
 * adapter for the same capability. It is copied into the job's directory. Without such an adapter the job is unchanged.
 * Later attempts keep the first attempt's adapter, even if another version is active by then. The trainer refuses
 * damaged files. Then it starts from zero and says so in its manifest.
 */
export async function withWarmStart(
  store: ArtifactStore,
  prepared: PreparedSpec,
  { context: { agent }, job: name, continues }: TrainInput,
  planned: PlannedJob,
): Promise<PlannedJob> {
  const path = join(planned.directory, FOLDER);
  const begun = await readIfExists(join(planned.directory, 'job.json'));
  const found = begun === null ? await adapterOf(store, prepared, { agent, name, continues }) : begunFrom(begun);
  // A trainer may write into its job's directory, so its content must not name files of another agent.
  if (found === undefined || !found.key.startsWith(`${layout.adapters(agent)}/`)) return planned;
  const beginsFrom = { ...found, path };
  await copyOnce(store.localPath(beginsFrom.key), beginsFrom);
  return { ...planned, job: { ...planned.job, beginsFrom } };
}

/**
 * The adapter that a job file names. A trainer may write into its job's directory, so a file that cannot be read counts
 * like one that names no adapter.
 */
function begunFrom(jobFile: string): TrainingJob['beginsFrom'] {
  try {
    return beginsFromSchema.parse(JSON.parse(jobFile)).beginsFrom;
  } catch {
    return undefined;
  }
}

async function adapterOf(
  store: ArtifactStore,
  prepared: PreparedSpec,
  { agent, name, continues }: { agent: string; name: string; continues: string | undefined },
): Promise<Omit<TrainingJob['beginsFrom'] & object, 'path'> | undefined> {
  if (!prepared.spec.training.warmStart) return undefined;
  const registry = await readRegistry(store, agent);
  const active = activeVersion(registry, prepared);
  // Another version may have become active since the night that named the adapter.
  const fitting = registry.versions.filter(({ baseModelSha256 }) => baseModelSha256 === prepared.baseModelSha256);
  const versions = continues !== undefined ? fitting.reverse() : typeof active === 'string' ? [] : [active];
  for (const { version, adapters } of versions) {
    const found = adapters.find(
      ({ capabilityId, sha256 }) => capabilityId === name && (continues === undefined || sha256 === continues),
    );
    if (found !== undefined) return { name: found.name, version, key: found.key, sha256: found.sha256 };
  }
  return undefined;
}

/** Copies an adapter, unless a complete copy exists. An incomplete copy of a dead worker is replaced. */
async function copyOnce(source: string, { path, sha256 }: TrainingJob['beginsFrom'] & object): Promise<void> {
  if ((await orIfMissing(modelDirectorySha256(path), null)) === sha256) return;
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await orIfMissing(cp(source, fresh, { recursive: true }), undefined);
    await rm(path, { recursive: true, force: true });
    await orIfMissing(rename(fresh, path), undefined);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Removes the copy. A finished training no longer needs it. */
export async function removeWarmStart(directory: string): Promise<void> {
  await rm(join(directory, FOLDER), { recursive: true, force: true }).catch(() => undefined);
}
