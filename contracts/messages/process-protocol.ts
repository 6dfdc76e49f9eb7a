import { z } from 'zod';
import { environmentTokensSchema } from '../artifacts/environment-use';
import { environmentFactsSchema } from '../config/environment-kinds/facts';
import {
  type EnvironmentCall,
  environmentMoveSchema,
  environmentResultSchemas,
  environmentToolSchema,
  openingMessageSchema,
} from './environment-protocol';

/**
 * Version 2 of the environment protocol, for processes of the agent's owner (docs/reference/protocols.md, section 2b).
 * Many requests are in flight, and responses come in any order.
 */

/** The version that the answer to `hello` must have. */
export const PROCESS_API_VERSION = 2;

/** The answer to `hello`, the first request. */
const processHelloSchema = z.strictObject({
  apiVersion: z.literal(PROCESS_API_VERSION),
  name: z.string().min(1).max(200),
  /** What its results depend on: a list of `package==version`. */
  packages: z.string().max(200_000),
  facts: environmentFactsSchema.pick({
    deterministic: true,
    hasReferences: true,
    hasDiagnostics: true,
    costsTokens: true,
  }),
});
export type ProcessHello = z.infer<typeof processHelloSchema>;

const tokens = z.int().nonnegative();

/** A named task, as the process knows it. */
const namedTaskSchema = z.strictObject({
  id: z.string().min(1).max(400),
  split: z.string().min(1).max(100),
  group: z.string().min(1).max(200).optional(),
});
export type NamedTask = z.infer<typeof namedTaskSchema>;

/** Result schema of each method. */
export const processResultSchemas = {
  hello: processHelloSchema,
  /** Null: every seed is a task. */
  tasks: z.strictObject({ tasks: z.array(namedTaskSchema).nullable() }),
  describe: environmentResultSchemas.describe,
  reset: z.strictObject({
    messages: z.array(openingMessageSchema).min(1),
    tags: z.array(z.string()).max(64).default([]),
    /** The tools of this episode; absent: those of the environment. */
    tools: z.array(environmentToolSchema).max(128).optional(),
  }),
  step: environmentResultSchemas.step,
  evaluate: environmentResultSchemas.evaluate.extend({
    diagnostics: environmentResultSchemas.evaluate.shape.diagnostics.default({}),
    /** Parts of the reward, by name. */
    parts: z.record(z.string().max(100), z.number()).optional(),
    /** Tokens that simulator and judge spent in this episode. */
    usage: environmentTokensSchema.optional(),
  }),
  /** `usage`: what the episode has spent, as in `evaluate`. */
  drop: z.strictObject({ usage: environmentTokensSchema.optional() }),
  task: environmentResultSchemas.task,
  /** Null: it has none. */
  reference: z.strictObject({ calls: z.array(environmentMoveSchema).max(1000).nullable() }),
} as const;

/** Methods that this client uses. */
export type ProcessMethod = keyof typeof processResultSchemas;

/** Result of a method. */
export type ProcessResult<M extends ProcessMethod> = z.infer<(typeof processResultSchemas)[M]>;

/** The end of an episode, of a module or a process. */
export type Evaluated = ProcessResult<'evaluate'>;

/** Parameters of each method. `task`: the id of a named task; its place is the seed. */
export interface ProcessParams {
  hello: { apiVersion: typeof PROCESS_API_VERSION };
  tasks: Record<string, never>;
  describe: Record<string, never>;
  reset: { episode: string; seed: number; task?: string };
  step: { episode: string; calls: EnvironmentCall[]; text?: string } | { episode: string; text: string };
  evaluate: { episode: string };
  drop: { episode: string };
  task: { seed: number; task?: string };
  reference: { seed: number; task?: string };
}

const processErrorSchema = z.strictObject({
  /** `TaskFailed`: the episode is over, and it is no fault of the agent. */
  type: z.enum(['BadRequest', 'EnvironmentRaised', 'BadReturn', 'NoSuchEpisode', 'TaskFailed']),
  message: z.string().max(4_000),
  traceback: z.string().max(4_000).nullable().default(null),
  /** Of `TaskFailed`: what failed. Counts stand beside every cause, so it is one short word, else `other`. */
  cause: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/)
    .catch('other'),
  /**
   * Of an episode that is over: the tokens that simulator and judge spent in it. What makes no sense is not known: a
   * line that is not allowed would end all episodes of the process.
   */
  usage: environmentTokensSchema.optional().catch(undefined),
});
export type ProcessErrorBody = z.infer<typeof processErrorSchema>;

/** A line of the process's output. A beat says that it works, while requests wait. */
export const processLineSchema = z.union([
  z.strictObject({ beat: z.strictObject({ open: tokens, waiting: tokens }) }),
  z.strictObject({ id: z.int(), result: z.record(z.string(), z.unknown()) }),
  z.strictObject({ id: z.int(), error: processErrorSchema }),
]);
