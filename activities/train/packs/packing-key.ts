import { createHash } from 'node:crypto';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { TrainingJob } from '../../../contracts/artifacts/training';

/**
 * Key by which trainings of a run find a trainer to share: a hash of all that must be equal, which is what the trainer
 * requires of its jobs and where it runs.
 */
export function packingKey(
  { spec: { training } }: PreparedSpec,
  { baseModel, threads, isolation, jailProfile, sampler, samplerUrl, maxModelLength }: TrainingJob,
): string {
  const common = [
    training.backend,
    training.kubernetes ?? null,
    training.packing,
    baseModel,
    threads,
    isolation,
    jailProfile,
    // Not for the engine, so that a pack of an earlier release keeps its key.
    ...(sampler === undefined ? [] : [sampler, samplerUrl ?? null]),
    ...(maxModelLength === undefined ? [] : [maxModelLength]),
  ];
  return createHash('sha256').update(JSON.stringify(common)).digest('hex').slice(0, 8);
}
