import { z } from 'zod';
import { branchesSchema, chatMessageSchema, leftOutSchema } from './trajectory';

/** Formats of conversations that other tools write. */
export const CONVERSATION_FORMATS = [
  'otlp',
  'langfuse',
  'langsmith',
  'tau2',
  'verifiers',
  'atif',
  'gateway',
  'anthropic',
  'openai',
] as const;
/** A name in `CONVERSATION_FORMATS`. */
export type ConversationFormat = (typeof CONVERSATION_FORMATS)[number];

/** The model of a trajectory whose conversation does not name one. No model can have this name. */
export const UNKNOWN_MODEL = '(unknown)';

/** Most other ids of one conversation: a session may have a trace for each turn, and each may have its score. */
export const MOST_ALIASES = 1_000;
/** Longest id of a conversation, in UTF-16 units. A longer one is replaced by its hash. */
export const LONGEST_ID = 200;

/** A conversation of an agent, as another tool recorded it. */
export const conversationSchema = z.strictObject({
  /** The source's own id; else the sha256 of its messages. */
  id: z.string().min(1).max(LONGEST_ID),
  /** Other ids of the source by which an outcome may name it, such as that of its trace. Absent: none. */
  aliases: z.array(z.string().min(1).max(LONGEST_ID)).max(MOST_ALIASES).optional(),
  format: z.enum(CONVERSATION_FORMATS),
  /** Null: the source names none, or several. */
  model: z.string().nullable(),
  /** ISO 8601. Null: the source does not say. */
  startedAt: z.iso.datetime().nullable(),
  messages: z.array(chatMessageSchema).min(1),
  /** Conversations with the model besides `messages`, as in a trajectory. Absent: none. */
  branches: branchesSchema.optional(),
  /** Schemas of the tools that the model was offered, as captured, in OpenAI's form. Absent: none were captured. */
  tools: z.array(z.unknown()).optional(),
  /** What is missing of it. Absent: nothing. */
  leftOut: leftOutSchema.optional(),
  /** The task's seed, where the source is a trajectory of ours. Absent: it is derived from the id. */
  seed: z.int().nonnegative().optional(),
  /** When it was ingested, ISO 8601. */
  at: z.iso.datetime(),
});
export type Conversation = z.infer<typeof conversationSchema>;

/** Where an outcome may come from. What is later in this list counts more, whenever it was ingested. */
const OUTCOME_SOURCES = ['trace', 'rule', 'file'] as const;

/** What came of a conversation. It is kept apart from it, because it is often known later. */
export const outcomeSchema = z.strictObject({
  /** Id or alias of the conversation. */
  conversation: z.string().min(1).max(LONGEST_ID),
  success: z.boolean(),
  /** In [0, 1]. */
  reward: z.number().min(0).max(1),
  from: z.enum(OUTCOME_SOURCES),
  /** The name and the value from which it was read, as `score correctness: 0.4`. */
  why: z.string().max(LONGEST_ID).optional(),
  /** When it was ingested, ISO 8601. Of outcomes from the same source, the latest counts. */
  at: z.iso.datetime(),
});
export type Outcome = z.infer<typeof outcomeSchema>;

/** Whether an outcome counts more than another one of the same conversation. */
export function countsMore(one: Pick<Outcome, 'from' | 'at'>, other: Pick<Outcome, 'from' | 'at'>): boolean {
  if (one.from === other.from) return one.at > other.at;
  return OUTCOME_SOURCES.indexOf(one.from) > OUTCOME_SOURCES.indexOf(other.from);
}

/**
 * The outcome of a conversation, of all that name it: those of the source that counts most. Of these, one of its own id
 * is more certain than those of its traces, which must agree; their reward is the mean.
 * @returns null: there is none; 'disagree': its traces passed and failed.
 */
export function outcomeAmong<T extends Pick<Outcome, 'success' | 'reward' | 'from' | 'at'>>(
  own: T | null,
  ofAliases: readonly T[],
): T | null | 'disagree' {
  const all = own === null ? ofAliases : [own, ...ofAliases];
  const from = OUTCOME_SOURCES.findLast((source) => all.some((one) => one.from === source));
  if (own !== null && own.from === from) return own;
  const [first, ...others] = ofAliases.filter((one) => one.from === from);
  if (first === undefined) return null;
  if (others.some(({ success }) => success !== first.success)) return 'disagree';
  return { ...first, reward: [first, ...others].reduce((sum, { reward }) => sum + reward, 0) / (others.length + 1) };
}
