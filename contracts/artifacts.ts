import { z } from 'zod';

/** Reference to an immutable artifact: `key` is relative to the store's root and carries the first 12 hex digits of `sha256`. */
export const artifactRefSchema = z.strictObject({
  key: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().int().nonnegative(),
  mediaType: z.string(),
  /** Number of records, for line-delimited artifacts. */
  records: z.number().int().nonnegative().optional(),
});
export type ArtifactRef = z.infer<typeof artifactRefSchema>;
