/** The tally: the labels of one labelling run as an artifact, with a reference to the tally of the run before. */
import { z } from 'zod';
import { type ArtifactRef, artifactRefSchema } from '../../../contracts/artifacts/artifact-ref';
import { getJson, type ArtifactStore } from '../../../store';

const tallySchema = z.strictObject({
  /** Labelling run, from 0 in its identification. */
  run: z.int().nonnegative(),
  previous: artifactRefSchema.nullable(),
  /** JSONL of LabelRecord: trajectory by trajectory, each with the capabilities in the order of `capabilities`. */
  labels: artifactRefSchema,
  /** Ids of the capabilities that were labelled in this run. */
  capabilities: z.array(z.string()),
  trajectories: z.int().nonnegative(),
  /** One byte for each label (`LABEL_CODES`), in the order of `labels`; base64. */
  codes: z.string(),
});
/** The JSON document of a tally. */
type TallyDocument = z.infer<typeof tallySchema>;

/** The labels of one labelling run in memory; the document has the same fields. */
export interface TalliedRun {
  run: number;
  labels: ArtifactRef;
  capabilities: string[];
  trajectories: number;
  codes: Uint8Array;
}

/** The document of a labelling run; `previous` is the tally of the run before. */
export function tallyDocument(run: TalliedRun, previous: ArtifactRef | null): TallyDocument {
  const { codes, ...rest } = run;
  return { ...rest, previous, codes: Buffer.from(codes).toString('base64') };
}

/** All labelling runs up to the given tally, the first one first. */
export async function readTallies(store: ArtifactStore, last: ArtifactRef | null): Promise<TalliedRun[]> {
  const runs: TalliedRun[] = [];
  for (let ref = last; ref !== null;) {
    const { previous, codes, ...rest } = await getJson(store, ref, tallySchema);
    runs.unshift({ ...rest, codes: new Uint8Array(Buffer.from(codes, 'base64')) });
    ref = previous;
  }
  return runs;
}

/** Label codes of one capability: an array for each labelling run that was made for it, indexed by trajectory. */
export function capabilityLabels(runs: readonly TalliedRun[], capabilityId: string): Uint8Array[] {
  return runs.flatMap(({ capabilities, trajectories, codes }) => {
    const at = capabilities.indexOf(capabilityId);
    return at < 0 ? [] : [Uint8Array.from({ length: trajectories }, (_, t) => codes[t * capabilities.length + at]!)];
  });
}
