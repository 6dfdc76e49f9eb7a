import { z } from 'zod';
import { artifactRefSchema } from './artifact-ref';
import { intervalSchema } from './evaluation';
import { ROUTER_KINDS } from '../config/router-kinds';

const registryAdapterSchema = z.strictObject({
  name: z.string(),
  capabilityId: z.string(),
  summary: z.string(),
  key: z.string(),
  sha256: z.string(),
});

/** One promoted set of adapters. */
const registryVersionSchema = z.strictObject({
  version: z.int().positive(),
  runId: z.string(),
  createdAt: z.string(),
  /** The version that it replaced when it was promoted; null: the base model. */
  replaced: z.int().positive().nullable(),
  baseModelSha256: z.string(),
  adapters: z.array(registryAdapterSchema),
  routedMinusBase: intervalSchema,
  /** The router that the version was judged with, and its `router.json`. */
  judgedRouter: z.strictObject({ kind: z.enum(ROUTER_KINDS), artifact: artifactRefSchema }),
});
export type RegistryVersion = z.infer<typeof registryVersionSchema>;

/** A version that gets a share of the conversations. The active version gets the rest. */
export const canarySchema = z.strictObject({
  /** Distinguishes canaries of the same version, and salts the hash that assigns conversations. */
  id: z.string().regex(/^[0-9a-f]{12}$/),
  version: z.int().positive(),
  /** Share of conversations, by hash of their key. */
  share: z.number().gt(0).lte(0.5),
  /** For a canary that is as good as the active version: the largest probability of a rollback over its whole life. */
  falseRollback: z.number().gt(0).lt(0.5),
  startedAt: z.string(),
});
export type Canary = z.infer<typeof canarySchema>;

/** How the last canary ended. */
const canaryEndSchema = z.strictObject({
  id: z.string(),
  version: z.int().positive(),
  outcome: z.enum(['promoted', 'stopped', 'rolled-back', 'superseded']),
  endedAt: z.string(),
  /** A sentence with the decisive numbers. */
  reason: z.string(),
});
export type CanaryEnd = z.infer<typeof canaryEndSchema>;

/**
 * The adapter registry of one agent. It is replaced as a whole, by compare-and-swap. With `active: null` the base model
 * gets every conversation.
 */
export const registrySchema = z.strictObject({
  agent: z.string(),
  active: z.int().positive().nullable(),
  versions: z.array(registryVersionSchema),
  canary: canarySchema.optional(),
  lastCanary: canaryEndSchema.optional(),
});
export type Registry = z.infer<typeof registrySchema>;
