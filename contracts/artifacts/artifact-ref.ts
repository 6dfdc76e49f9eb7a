import { z } from 'zod';

/** Reference to an immutable artifact. */
export const artifactRefSchema = z.strictObject({
  key: z.string().min(1).describe("Path relative to the store's root; carries the first 12 hex digits of `sha256`."),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('Hash of its bytes, in hex.'),
  bytes: z.int().nonnegative().describe('Size.'),
  mediaType: z.string().describe('MIME type.'),
  records: z.int().nonnegative().optional().describe('Number of records, for line-delimited artifacts.'),
});
export type ArtifactRef = z.infer<typeof artifactRefSchema>;
