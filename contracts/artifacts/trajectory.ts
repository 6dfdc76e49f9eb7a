import { z } from 'zod';

const toolCallSchema = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** A message in OpenAI's chat format. */
export const chatMessageSchema = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullable(),
  /** The model's reasoning before its answer, if the server separates the two. */
  reasoning_content: z.string().optional(),
  tool_calls: z.array(toolCallSchema).optional(),
  tool_call_id: z.string().optional(),
});
export type ChatMessage = z.infer<typeof chatMessageSchema>;

/** A copy of the message, with `change` applied to its content and to the arguments of its tool calls. */
export const withTexts = (message: ChatMessage, change: (text: string) => string): ChatMessage => ({
  ...message,
  content: message.content === null ? null : change(message.content),
  ...(message.tool_calls && {
    tool_calls: message.tool_calls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: change(call.function.arguments) },
    })),
  }),
});

/**
 * Why an episode ended. `context-length`: its conversation became longer than the model's context. `refused`: the model
 * server refused this conversation. In both cases, an episode without any model answer has failed.
 */
const FINISH_REASONS = [
  'done',
  'turn-limit',
  'no-tool-call',
  'context-length',
  'refused',
  'environment-error',
] as const;

/** The value of `model` for a live conversation in which several models answered. No model can have this name. */
export const SEVERAL_MODELS = '';
/** Most entries of `answeredBy`. */
export const MOST_ANSWERING_MODELS = 32;

/**
 * What a trajectory may lack of its live conversation: content that is no text; further choices of the last answer, as
 * the client may have gone on with one of them; the end of the last answer.
 */
const LEFT_OUT = ['image', 'audio', 'video', 'file', 'other', 'choices', 'end'] as const;
/** A name in `LEFT_OUT`. */
export type LeftOut = (typeof LEFT_OUT)[number];

const answeringModelSchema = z.strictObject({
  /** Served model name: base or adapter. */
  model: z.string(),
  /** Version of the agent's registry whose router chose it, or that has it; null: none. */
  version: z.int().positive().nullable(),
  /** The base model answered in place of a router or an adapter that failed. Absent: it was chosen. */
  standsIn: z.literal(true).optional(),
});
/** A model that answered turns of a live conversation. */
export type AnsweringModel = z.infer<typeof answeringModelSchema>;

/** One episode of the agent in an environment. */
export const trajectorySchema = z.strictObject({
  /** sha256 of the canonical JSON of task, trial, model and messages. */
  id: z.string().regex(/^[0-9a-f]{64}$/),
  task: z.strictObject({
    seed: z.int().nonnegative(),
    split: z.enum(['train', 'held-out', 'synthetic', 'live']),
  }),
  trial: z.int().nonnegative(),
  /** Served model name: base or adapter; of a live conversation that several answered `SEVERAL_MODELS`. */
  model: z.string(),
  /** The models that answered a live conversation, each once, in the order of their first answers. Absent: no such. */
  answeredBy: z.array(answeringModelSchema).min(1).max(MOST_ANSWERING_MODELS).optional(),
  /** What is missing of a live conversation. Absent: nothing. Else it is evidence of nothing. */
  leftOut: z.array(z.enum(LEFT_OUT)).min(1).optional(),
  /** Seed of the sampler for the episode's first turn; turn t uses `samplingSeed + t`. */
  samplingSeed: z.int().nonnegative(),
  messages: z.array(chatMessageSchema),
  /** In [0, 1]. */
  reward: z.number().min(0).max(1),
  success: z.boolean(),
  finish: z.enum(FINISH_REASONS),
  /** Tool calls made. */
  steps: z.int().nonnegative(),
  /** Replies that were cut at `maxCompletionTokens` or at the end of the model's context. Absent: none. */
  cutReplies: z.int().positive().optional(),
  usage: z.strictObject({
    promptTokens: z.int(),
    completionTokens: z.int(),
    cachedTokens: z.int(),
  }),
  /** Ground truth of the environment, if it has any: only for reports, never shown to agent or analyst. */
  tags: z.array(z.string()),
  diagnostics: z.record(z.string(), z.enum(['lacking', 'present'])),
});
export type Trajectory = z.infer<typeof trajectorySchema>;

/** A finished set of rollouts of one model on one range of tasks. */
export interface RolloutSummary {
  trajectories: import('./artifact-ref').ArtifactRef;
  episodes: number;
  /** Number of episodes that are conversations of live traffic; they cost this run no tokens. Absent: none. */
  live?: number;
  /** Number of episodes whose opening alone exceeded the model's context. Absent: none. */
  tooLong?: number;
  /** Number of rollouts that ended because the model server refused their conversation. Absent: none. */
  refused?: number;
  /** Number of rollouts with a reply that was cut at the token limit. Absent: none. */
  cut?: number;
  /** Number of lines of live traffic that were left out because they are not trajectories. Absent: none. */
  unreadable?: number;
  /** Number of damaged lines of the work file that were set aside; their rollouts were made again. Absent: none. */
  damagedLines?: number;
  successes: number;
  failures: number;
  promptTokens: number;
  completionTokens: number;
  seconds: number;
}
