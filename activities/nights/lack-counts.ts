import { z } from 'zod';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { consensusLabelSchema } from '../../contracts/artifacts/identification';
import type { LackCount } from '../../contracts/artifacts/night';
import type { ArmRollouts } from '../../contracts/messages/evaluate-stage';
import { type ArtifactStore, getLines } from '../../store';

const idSchema = z.object({ id: z.string() });
const labelSchema = consensusLabelSchema.pick({ trajectoryId: true, capabilityId: true, label: true }).strip();

/**
 * The number of a night's tasks in which each capability is lacking, by the consensus labels of the served version's
 * rollouts. Live traffic is left out: clients choose its tasks, and they differ each night.
 */
export async function lackCounts(
  store: ArtifactStore,
  labels: ArtifactRef,
  { rollouts }: ArmRollouts,
): Promise<LackCount[]> {
  const played = new Set((await getLines(store, rollouts.trajectories, idSchema)).map(({ id }) => id));
  const counts = new Map<string, LackCount>();
  for (const { trajectoryId, capabilityId, label } of await getLines(store, labels, labelSchema)) {
    if (label === null || !played.has(trajectoryId)) continue;
    const { tasks, lacking } = counts.get(capabilityId) ?? { tasks: 0, lacking: 0 };
    counts.set(capabilityId, { capabilityId, tasks: tasks + 1, lacking: lacking + (label === 'LACKING' ? 1 : 0) });
  }
  return [...counts.values()].sort((a, b) => (a.capabilityId < b.capabilityId ? -1 : 1));
}
