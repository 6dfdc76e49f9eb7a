import { createHash } from 'node:crypto';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { TrainingJob } from '../../../contracts/artifacts/training';

/**
 * What trainings of one run must have in common to share a trainer, hashed. All that the trainer insists on, and where
 * it runs.
 */
export function packingKey(
  { spec: { training } }: PreparedSpec,
  { baseModel, threads, isolation, jailProfile }: TrainingJob,
): string {
  const common = [
    training.backend,
    training.kubernetes ?? null,
    training.packing,
    baseModel,
    threads,
    isolation,
    jailProfile,
  ];
  return createHash('sha256').update(JSON.stringify(common)).digest('hex').slice(0, 8);
}
