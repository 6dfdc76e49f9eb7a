/** The tally: the labels of one labelling run as an artifact, with a reference to the tally of the run before. */
import { z } from 'zod';
import { type ArtifactRef, artifactRefSchema } from '../../../contracts/artifacts/artifact-ref';
import { getJson, type ArtifactStore } from '../../../store';

/** Bytes, which JSON keeps as base64. */
const bytesSchema = z.codec(z.string(), z.instanceof(Uint8Array), {
  decode: (text) => new Uint8Array(Buffer.from(text, 'base64')),
  encode: (bytes) => Buffer.from(bytes).toString('base64'),
});

/** The document of a labelling run. */
export const tallySchema = z.strictObject({
  /** Labelling run, from 0 in its identification. */
  run: z.int().nonnegative(),
  /** JSONL of LabelRecord: trajectory by trajectory, each with the capabilities in the order of `capabilities`. */
  labels: artifactRefSchema,
  /** Ids of the capabilities that were labelled in this run. */
  capabilities: z.array(z.string()),
  trajectories: z.int().nonnegative(),
  /** The tally of the run before. */
  previous: artifactRefSchema.nullable(),
  /** One byte for each label (`LABEL_CODES`), in the order of `labels`. */
  codes: bytesSchema,
});
export type TalliedRun = z.infer<typeof tallySchema>;

/** All labelling runs up to the given tally, in order. */
export async function readTallies(store: ArtifactStore, last: ArtifactRef | null): Promise<TalliedRun[]> {
  const runs: TalliedRun[] = [];
  for (let ref = last; ref !== null;) {
    const run: TalliedRun = await getJson(store, ref, tallySchema);
    runs.unshift(run);
    ref = run.previous;
  }
  return runs;
}

/** Label codes of one capability: an array for each of its labelling runs, indexed by trajectory. */
export function capabilityLabels(runs: readonly TalliedRun[], capabilityId: string): Uint8Array[] {
  return runs.flatMap(({ capabilities, trajectories, codes }) => {
    const at = capabilities.indexOf(capabilityId);
    return at < 0 ? [] : [Uint8Array.from({ length: trajectories }, (_, t) => codes[t * capabilities.length + at]!)];
  });
}
