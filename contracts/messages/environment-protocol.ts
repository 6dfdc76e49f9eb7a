import { z } from 'zod';

/**
 * The protocol of the environment runtime (docs/reference/protocols.md, section 2). Each line is one JSON document:
 * requests go in, responses come out. The environment's author controls the process and can forge a response. So every
 * size and type is checked again here.
 */

/**
 * The version that the answer to `load` must have. Another version means that runtime and client come from different
 * versions of the project.
 */
const ENVIRONMENT_API_VERSION = 1;

/** A tool call in the form that an environment takes. */
export const environmentCallSchema = z.strictObject({
  name: z.string().max(200),
  arguments: z.record(z.string(), z.unknown()),
});
export type EnvironmentCall = z.infer<typeof environmentCallSchema>;

/** An agent's move in one turn: a tool call, or text without a call. */
export const environmentMoveSchema = z.union([environmentCallSchema, z.strictObject({ text: z.string() })]);
export type EnvironmentMove = z.infer<typeof environmentMoveSchema>;

/** An OpenAI function tool. */
export const environmentToolSchema = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});
export type EnvironmentTool = z.infer<typeof environmentToolSchema>;

/** An opening message of an episode. */
export const openingMessageSchema = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string(),
});
export type OpeningMessage = z.infer<typeof openingMessageSchema>;

/** An opening message of a module, in which the agent has not spoken yet. */
const moduleOpeningSchema = openingMessageSchema.extend({ role: z.enum(['system', 'user']) });

/** Ground truth of planted deficits; empty for most environments. All that any episode names is held in memory. */
export const diagnosticsSchema = z
  .record(z.string().max(200), z.enum(['lacking', 'present']))
  .refine((found) => Object.keys(found).length <= 256, 'at most 256 capabilities');

/** Result schema of each method. */
export const environmentResultSchemas = {
  load: z.strictObject({
    apiVersion: z.literal(ENVIRONMENT_API_VERSION),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    python: z.string().max(40),
  }),
  describe: z.strictObject({
    tools: z.array(environmentToolSchema).min(1).max(128),
    hasSay: z.boolean(),
    hasHints: z.boolean(),
  }),
  reset: z.strictObject({ messages: z.array(moduleOpeningSchema).min(1), tags: z.array(z.string()).max(64) }),
  step: z.strictObject({ observations: z.array(z.string()).max(64), done: z.boolean() }),
  evaluate: z.strictObject({
    /** In [0, 1]. */
    reward: z.number().min(0).max(1),
    diagnostics: diagnosticsSchema,
  }),
  drop: z.strictObject({}),
  task: z.strictObject({ task: z.record(z.string(), z.unknown()) }),
  reference: z.strictObject({ calls: z.array(environmentMoveSchema).max(64) }),
  hints: z.strictObject({ hints: z.array(z.string()) }),
} as const;

/** Methods of the protocol. `batch` is not one of them: it carries requests for the others. */
export type EnvironmentMethod = keyof typeof environmentResultSchemas;

/** Result of a method. */
export type EnvironmentResult<M extends EnvironmentMethod> = z.infer<(typeof environmentResultSchemas)[M]>;

/** Parameters of each method. A seed is an integer of at most 53 bits; an episode is a name that the caller chooses. */
export interface EnvironmentParams {
  /** `later`: seconds by which the module's clock is ahead. */
  load: { source: string; later?: number };
  describe: Record<string, never>;
  reset: { episode: string; seed: number };
  step: { episode: string; calls: EnvironmentCall[] } | { episode: string; text: string };
  evaluate: { episode: string };
  drop: { episode: string };
  task: { seed: number };
  reference: { seed: number };
  hints: { seed: number };
}

/**
 * Types of the runtime's errors. `NotRun` appears only in a batch: the request had no effect and may be sent again.
 */
const ENVIRONMENT_ERROR_TYPES = ['BadRequest', 'EnvironmentRaised', 'BadReturn', 'NoSuchEpisode', 'NotRun'] as const;

/** The error object of a response. */
const environmentErrorSchema = z.strictObject({
  type: z.enum(ENVIRONMENT_ERROR_TYPES),
  message: z.string().max(4_000),
  traceback: z.string().max(4_000).nullable(),
});
export type EnvironmentErrorBody = z.infer<typeof environmentErrorSchema>;

/** A result that its method's schema has not checked yet, or an error. */
const environmentOutcomeSchema = z.union([
  z.strictObject({ result: z.record(z.string(), z.unknown()) }),
  z.strictObject({ error: environmentErrorSchema }),
]);
export type EnvironmentOutcome = z.infer<typeof environmentOutcomeSchema>;

/** A line of the runtime's output. */
export const environmentResponseSchema = z.union([
  z.strictObject({ id: z.int(), result: z.record(z.string(), z.unknown()) }),
  z.strictObject({ id: z.int().nullable(), error: environmentErrorSchema }),
]);

/** Result of `batch`, in the order of its requests. */
export const environmentBatchSchema = z.strictObject({ results: z.array(environmentOutcomeSchema) });
