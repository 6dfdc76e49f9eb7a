import { z } from 'zod';

/** Bytes of a file with labels. The end is exclusive. */
export const labelPlaceSchema = z.strictObject({
  segment: z.string(),
  start: z.int().nonnegative(),
  end: z.int().positive(),
});
export type LabelPlace = z.infer<typeof labelPlaceSchema>;

/**
 * One chunk of a labelling run: trajectories `from` (inclusive) to `to` (exclusive), each with all candidates. One
 * activity labels it.
 */
const chunkSchema = z.strictObject({
  from: z.int().nonnegative(),
  to: z.int().positive(),
  /** Hash of the chunk's label keys. */
  hash: z.string(),
  /** Name of the folder with the labels of these trajectories. */
  set: z.string(),
  /**
   * Place of the chunk's trajectories in the trajectories artifact: byte offsets with an exclusive end, and the hash of
   * these bytes.
   */
  bytes: z.strictObject({ start: z.int().nonnegative(), end: z.int().positive(), sha256: z.string() }),
  /** Places of labels that other improvement runs wrote for these trajectories. */
  sources: z.array(labelPlaceSchema),
});
export type Chunk = z.infer<typeof chunkSchema>;

/** The artifact of `planLabels`: the chunks of one labelling run, in the order of the trajectories. */
export const labelPlanSchema = z.strictObject({
  promptVersion: z.string(),
  model: z.string(),
  /** Labelling run, from 0. */
  run: z.int().nonnegative(),
  chunks: z.array(chunkSchema),
});
export type LabelPlanDocument = z.infer<typeof labelPlanSchema>;
