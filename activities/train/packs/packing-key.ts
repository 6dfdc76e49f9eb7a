import { createHash } from 'node:crypto';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { TrainingJob } from '../../../contracts/artifacts/training';

/**
 * Trainings with the same key may share a trainer. The key is a hash of all settings that one process requires to be
 * equal, and of the place where the trainer runs.
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
    sampler,
    samplerUrl ?? null,
    maxModelLength ?? null,
  ];
  return createHash('sha256').update(JSON.stringify(common)).digest('hex').slice(0, 8);
}
