import { z } from 'zod';
import { type ArtifactRef, artifactRefSchema } from '../../contracts/artifacts/artifact-ref';
import { getJson, type ArtifactStore } from '../../store';

/** Labels of one labelling run as an artifact. */
const tallySchema = z.strictObject({
  run: z.int().nonnegative(),
  previous: artifactRefSchema.nullable(),
  /** JSONL of LabelRecord: trajectory by trajectory, in each the capabilities in the order of `capabilities`. */
  labels: artifactRefSchema,
  /** Ids of the capabilities that were labelled in this run. */
  capabilities: z.array(z.string()),
  trajectories: z.int().nonnegative(),
  /** One label code a label, in the order of `labels`; base64. */
  codes: z.string(),
});
export type Tally = z.infer<typeof tallySchema>;

/** One labelling run, opened. */
export interface TalliedRun {
  run: number;
  labels: ArtifactRef;
  capabilities: string[];
  trajectories: number;
  codes: Uint8Array;
}

/** Document of a run's labels. */
export function tallyDocument(run: TalliedRun, previous: ArtifactRef | null): Tally {
  const { codes, ...rest } = run;
  return { ...rest, previous, codes: Buffer.from(codes).toString('base64') };
}

/** All runs up to the given one, the first one first. */
export async function readTallies(store: ArtifactStore, last: ArtifactRef | null): Promise<TalliedRun[]> {
  const runs: TalliedRun[] = [];
  for (let ref = last; ref !== null;) {
    const { previous, codes, ...rest } = await getJson(store, ref, tallySchema);
    runs.unshift({ ...rest, codes: new Uint8Array(Buffer.from(codes, 'base64')) });
    ref = previous;
  }
  return runs;
}

/** Labels of one capability in the runs that were made for it, by trajectory. */
export function labelsOf(runs: readonly TalliedRun[], capabilityId: string): Uint8Array[] {
  return runs.flatMap(({ capabilities, trajectories, codes }) => {
    const at = capabilities.indexOf(capabilityId);
    return at < 0 ? [] : [Uint8Array.from({ length: trajectories }, (_, t) => codes[t * capabilities.length + at]!)];
  });
}
