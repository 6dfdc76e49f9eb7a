import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { questionKind, type RuleBook, UnknownQuestionError } from './answers';
import type { BilledAnswer, Journal } from './journal';

/** Prompts of a discovery call hold a batch of episodes. */
const BODY_LIMIT = 32 * 1024 * 1024;
const CHARS_PER_TOKEN = 4;

const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  stream: z.boolean().nullish(),
  response_format: z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      schema: z.object({
        type: z.literal('object'),
        properties: z.record(z.string(), z.unknown()),
        required: z.array(z.string()),
      }),
    }),
  }),
});
type ChatRequest = z.infer<typeof requestSchema>;

/** What the server answers with. */
export interface AnalystServerOptions {
  rules: RuleBook;
  journal: Journal;
  /** Milliseconds by which every answer is delayed. Default 0. */
  latencyMs?: number;
  /** Folder that gets each prompt of discovery and synthesis, answered or not, as `<sha256>.txt`. Default: none. */
  prompts?: string | null;
}

/** An error in OpenAI's format. */
class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * An analyst of recorded answers and rules behind OpenAI's chat completions API. It honours Idempotency-Key as payment
 * APIs do: a known key gets the stored answer and is not billed again; a known key with another question is refused
 * with 422.
 */
export function createAnalystServer(options: AnalystServerOptions): FastifyInstance {
  const { rules, journal, latencyMs = 0, prompts = null } = options;
  /** Answers on their way, by key: the same key asks once. */
  const underWay = new Map<string, { body: string; answer: Promise<BilledAnswer> }>();
  // Idle connections outlive the pauses between stages: a connection that closes under a request costs the caller a
  // retry.
  const app = fastify({ bodyLimit: BODY_LIMIT, keepAliveTimeout: 120_000, forceCloseConnections: true });

  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error instanceof ApiError ? error.status : (error.statusCode ?? 500);
    const code = error instanceof ApiError ? error.code : null;
    void reply
      .status(status)
      .send({ error: { message: error.message, type: status < 500 ? 'invalid_request_error' : 'server_error', code } });
  });

  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/stats', () => journal.stats);
  app.get('/v1/models', () => ({
    object: 'list',
    data: [{ id: rules.model, object: 'model', created: 0, owned_by: rules.name }],
  }));

  app.post('/v1/chat/completions', async (request) => {
    const body = parse(request.body, rules);
    const header = request.headers['idempotency-key'];
    const key = typeof header === 'string' && header !== '' ? header : null;
    const bodyHash = createHash('sha256')
      .update(JSON.stringify([body.model, body.messages]))
      .digest('hex');
    const known = key === null ? undefined : (journal.find(key) ?? underWay.get(key));
    if (known && known.body !== bodyHash)
      throw new ApiError(422, 'idempotency_key_reused', `Idempotency-Key ${key} was used for another question.`);
    const answer = known
      ? await ('answer' in known ? known.answer : known)
      : await bill(answerTo(body, { rules, prompts }, key, bodyHash), key, bodyHash);
    if (known) await journal.replay(answer);
    if (latencyMs > 0) await delay(latencyMs);
    return completion(answer, rules);
  });

  if (rules.close) app.addHook('onClose', () => rules.close?.());
  return app;

  async function bill(coming: Promise<BilledAnswer>, key: string | null, body: string): Promise<BilledAnswer> {
    if (key !== null) underWay.set(key, { body, answer: coming });
    try {
      const answer = await coming;
      await journal.bill(answer);
      return answer;
    } finally {
      if (key !== null) underWay.delete(key);
    }
  }
}

function parse(body: unknown, { model, name }: RuleBook): ChatRequest {
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success)
    throw new ApiError(
      400,
      'invalid_request',
      `The ${name} does not answer this request: ${z.prettifyError(parsed.error).replace(/\n/g, '; ')}`,
    );
  if (parsed.data.model !== model)
    throw new ApiError(
      404,
      'model_not_found',
      `The model ${parsed.data.model} does not exist; the only one here is ${model}.`,
    );
  if (parsed.data.stream) throw new ApiError(400, 'unsupported_value', `The ${name} does not stream.`);
  return parsed.data;
}

async function answerTo(
  body: ChatRequest,
  { rules, prompts }: { rules: RuleBook; prompts: string | null },
  key: string | null,
  bodyHash: string,
): Promise<BilledAnswer> {
  // The system message says how to answer; the question is what the user message ends with.
  const question = body.messages.filter(({ role }) => role === 'user').at(-1)?.content ?? '';
  if (prompts !== null) await keepPrompt(prompts, question, body);
  try {
    const { kind, value } = await rules.answer(question);
    const content = JSON.stringify(inForm(value, body, rules));
    const promptChars = body.messages.reduce((sum, message) => sum + message.content.length, 0);
    return {
      key,
      kind,
      body: bodyHash,
      content,
      promptTokens: Math.ceil(promptChars / CHARS_PER_TOKEN),
      completionTokens: Math.ceil(content.length / CHARS_PER_TOKEN),
    };
  } catch (error) {
    if (error instanceof UnknownQuestionError) throw new ApiError(400, 'unknown_question', error.message);
    throw error;
  }
}

/** Keeps a prompt that somebody may want to answer; labels are too many, and rules answer them. */
async function keepPrompt(folder: string, question: string, { messages }: ChatRequest): Promise<void> {
  const kind = questionKind(question);
  if (kind !== 'discover' && kind !== 'synthesise') return;
  const text = messages.map(({ role, content }) => `${role}:\n${content}\n`).join('\n');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${createHash('sha256').update(text).digest('hex')}.txt`), text);
}

/** The answer with the properties that the schema asks for, in the schema's order. */
function inForm(
  value: Record<string, unknown>,
  { response_format: { json_schema } }: ChatRequest,
  { name: analyst }: RuleBook,
): Record<string, unknown> {
  const { properties, required } = json_schema.schema;
  const unknown = required.filter((name) => !(name in value));
  if (unknown.length > 0)
    throw new UnknownQuestionError(
      `The response_format requires ${unknown.join(', ')}, which the ${analyst} does not answer.`,
    );
  return Object.fromEntries(Object.keys(properties).flatMap((name) => (name in value ? [[name, value[name]]] : [])));
}

function completion(answer: BilledAnswer, { model }: RuleBook) {
  const { promptTokens, completionTokens } = answer;
  return {
    id: `chatcmpl-${answer.body.slice(0, 24)}`,
    object: 'chat.completion',
    created: 0,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer.content, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: 0 },
    },
  };
}
