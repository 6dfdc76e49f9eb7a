import { z } from 'zod';
import { type Interval, intervalSchema } from '../../contracts/artifacts/evaluation';
import { type ArtifactStore, isStoreError, layout } from '../../store';

/** Only these members of `evaluation.json`. */
const evaluationSchema = z.object({
  routed: z.object({ passRate: intervalSchema }),
  routedMinusBase: intervalSchema,
});

/**
 * The pass rate on held-out tasks at a version's promotion, from the evaluation that gave its gain. Null if that
 * evaluation is missing.
 */
export async function promotedRate(store: ArtifactStore, runId: string, gain: Interval): Promise<Interval | null> {
  const folder = layout.evaluation(runId);
  const names = (await store.list(folder)).filter((name) => /^evaluation-[0-9a-f]{12}\.json$/.test(name));
  for (const name of names) {
    try {
      const text = (await store.getNamed(`${folder}/${name}`)).toString('utf8');
      const read = evaluationSchema.safeParse(JSON.parse(text));
      if (read.success && read.data.routedMinusBase.estimate === gain.estimate) return read.data.routed.passRate;
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }
  return null;
}
