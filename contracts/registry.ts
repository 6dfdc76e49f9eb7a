import { z } from 'zod';
import { intervalSchema } from './evaluation';

const registryAdapterSchema = z.strictObject({
  name: z.string(),
  capabilityId: z.string(),
  summary: z.string(),
  key: z.string(),
  sha256: z.string(),
});

/** One promoted set of adapters. */
export const registryVersionSchema = z.strictObject({
  version: z.number().int().positive(),
  runId: z.string(),
  createdAt: z.string(),
  baseModelSha256: z.string(),
  adapters: z.array(registryAdapterSchema),
  routedMinusBase: intervalSchema,
});
export type RegistryVersion = z.infer<typeof registryVersionSchema>;

/** The adapter registry of one agent; replaced as a whole by compare-and-swap. `active: null` serves the base model alone. */
export const registrySchema = z.strictObject({
  agent: z.string(),
  active: z.number().int().positive().nullable(),
  versions: z.array(registryVersionSchema),
});
export type Registry = z.infer<typeof registrySchema>;
