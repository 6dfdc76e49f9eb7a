import { z } from 'zod';
import type { FailedByCause } from '../failed-episodes';
import type { ArtifactRef } from './artifact-ref';
import { environmentTokensSchema } from './environment-use';
import type { KeptTokens } from './episode-tokens';

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
 * server refused this conversation. In both cases, an episode without any model answer has failed. `failed`: something
 * other than the agent failed, such as the simulator of its user; the episode has no result.
 */
const FINISH_REASONS = [
  'done',
  'turn-limit',
  'no-tool-call',
  'context-length',
  'refused',
  'environment-error',
  'failed',
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

/** What is missing of a conversation. */
export const leftOutSchema = z.array(z.enum(LEFT_OUT)).min(1);

/** Conversations with the model besides the main one: their number, and the first of them. */
export const branchesSchema = z.strictObject({
  count: z.int().positive(),
  kept: z.array(z.array(chatMessageSchema)),
});

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
  /** What is missing of a conversation of live traffic or of a program. Absent: nothing. */
  leftOut: leftOutSchema.optional(),
  /** Seed of the sampler for the episode's first turn; turn t uses `samplingSeed + t`. */
  samplingSeed: z.int().nonnegative(),
  messages: z.array(chatMessageSchema),
  /** Messages of the assistant in the opening, which the model did not write. Absent: none. */
  openingAnswers: z.int().positive().optional(),
  /**
   * Conversations with the model besides `messages`, such as those of sub-agents: their number, and the first of them.
   * Absent: none.
   */
  branches: branchesSchema.optional(),
  /** In [0, 1]. */
  reward: z.number().min(0).max(1),
  success: z.boolean(),
  finish: z.enum(FINISH_REASONS),
  /** What failed, where `finish` is `failed`: a word such as `simulator`. Absent in every other case. */
  failedBecause: z.string().optional(),
  /** Tool calls made. */
  steps: z.int().nonnegative(),
  /** Replies that were cut at `maxCompletionTokens` or at the end of the model's context. Absent: none. */
  cutReplies: z.int().positive().optional(),
  /** Tools whose calls an experiment put in or did not carry out, each once. Absent: none. */
  intervened: z.array(z.string()).min(1).optional(),
  usage: z.strictObject({
    promptTokens: z.int(),
    completionTokens: z.int(),
    cachedTokens: z.int(),
  }),
  /** Tokens that a simulated user and a judge spent. Absent: the environment does not say. */
  environmentUsage: environmentTokensSchema.optional(),
  /** Ground truth of the environment, if it has any: only for reports, never shown to agent or analyst. */
  tags: z.array(z.string()),
  diagnostics: z.record(z.string(), z.enum(['lacking', 'present'])),
});
export type Trajectory = z.infer<typeof trajectorySchema>;

/** Whether an episode has a result. A failed one has none: its reward of 0 is no score, so every statistic omits it. */
export const isPlayed = ({ finish }: Pick<Trajectory, 'finish'>): boolean => finish !== 'failed';

/** Whether an episode passed although its agent called no tool. Then its success shows no skill with the tools. */
export const passedWithoutCalls = ({ success, steps }: Pick<Trajectory, 'success' | 'steps'>): boolean =>
  success && steps === 0;

/** A finished set of rollouts of one model on one range of tasks. */
export interface RolloutSummary {
  /** The episodes that have a result. */
  trajectories: ArtifactRef;
  /** The failed ones. Nothing but their count enters a figure. Absent: none. */
  failedTrajectories?: ArtifactRef;
  /** Absent: nobody asked for the tokens. */
  tokens?: KeptTokens;
  /** Number of all episodes: successes, failures, and those that failed. */
  episodes: number;
  /** Absent: none. */
  failed?: FailedByCause;
  /** The first tasks of those, by their ids, else their seeds. Absent: none, or nobody looked. */
  failedTasks?: string[];
  /** Number of episodes that are conversations of live traffic; they cost this run no tokens. Absent: none. */
  live?: number;
  /** Of those, conversations that were ingested. Nothing was played beside them. Absent: rollouts were played. */
  ingested?: number;
  /** Conversations that were ingested and have no outcome; they are no episodes. Absent: none. */
  withoutOutcome?: number;
  /** Number of episodes whose opening alone exceeded the model's context. Absent: none. */
  tooLong?: number;
  /** Number of rollouts that ended because the model server refused their conversation. Absent: none. */
  refused?: number;
  /** Number of rollouts with a reply that was cut at the token limit. Absent: none. */
  cut?: number;
  /** Number of episodes that are not whole: they lack what a trajectory cannot hold, such as images. Absent: none. */
  notWhole?: number;
  /** Number of lines of conversations that were left out because they are not trajectories. Absent: none. */
  unreadable?: number;
  /** Number of damaged lines of the work file that were set aside; their rollouts were made again. Absent: none. */
  damagedLines?: number;
  successes: number;
  /** Number of successes without a call of a tool, where other episodes made calls. Absent: none. */
  withoutCalls?: number;
  failures: number;
  promptTokens: number;
  completionTokens: number;
  seconds: number;
}
