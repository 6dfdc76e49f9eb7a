import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ZodError } from 'zod';
import { canonicalJson } from '../../../contracts/artifacts/trajectory-id';
import type { ChatMessage, LeftOut } from '../../../contracts/artifacts/trajectory';
import { type EnvironmentTool, environmentToolSchema } from '../../../contracts/messages/environment-protocol';
import { type Fields, type Said, toChatMessage } from '../../../dialects';
import { answerMessage } from '../answer-message';
import { answerOrFault, type EpisodeParties, type EpisodePlan, type EpisodeSettings } from '../episode';
import type { ChatAnswer } from '../model-client';
import { ModelFault } from '../model-errors';
import { Conversations, type Exchange, messagesOf, rootOf } from './conversations';

/** Most requests of an episode, and most of them at a time. */
const MOST_EXCHANGES = 1_000;
const MOST_AT_A_TIME = 32;
/** Most characters of an episode's messages that are kept. */
const MOST_CHARACTERS = 8_000_000;
/** Most bytes that an episode's requests have in all. */
const MOST_BYTES = 268_435_456;
/** Most messages of a request. */
const MOST_MESSAGES = 2_000;
/** Deepest nesting of what a request sends besides messages. */
const DEEPEST = 100;
/** Members of a request that go to the model as they are. Temperature and seed are those of the run. */
const PASSED_ON = ['tool_choice', 'parallel_tool_calls', 'response_format', 'stop', 'reasoning_effort'];
/** Values that a server takes where a request has none; without tools there is nothing to choose. */
const USUAL: readonly [name: string, value: unknown][] = [
  ['tool_choice', 'auto'],
  ['tool_choice', 'none'],
  ['parallel_tool_calls', true],
  ['response_format', { type: 'text' }],
];
/** Seeds of repeated requests are this far apart, and within 31 bits. */
const REPEATED = 15_485_863;

/** A request of a program that gets an error for an answer. */
export class RefusedRequest extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly param: string | null = null,
  ) {
    super(message);
  }
}

const episodeLimit = () =>
  new RefusedRequest(429, 'episode_limit', 'This episode has asked as much as an episode may ask.');

/** Refuses a list of too many messages. @param name of the list in the request. @throws RefusedRequest. */
export function requireFewMessages(messages: unknown, name: string): void {
  if (!Array.isArray(messages) || messages.length <= MOST_MESSAGES) return;
  throw new RefusedRequest(400, 'too_many_messages', `${name} may have at most ${MOST_MESSAGES} members.`, name);
}

/** What an episode's requests are answered with. */
export interface CaptureOptions extends Pick<EpisodeParties, 'chat' | 'countTokens'> {
  plan: EpisodePlan;
  settings: EpisodeSettings;
  /** The name of the model, which every request must have. */
  model: string;
}

/** What was captured of an episode. */
export interface Captured {
  /** The main conversation. */
  messages: ChatMessage[];
  /** All others. */
  others: ChatMessage[][];
  /** Number of the main conversation's answers. */
  answers: number;
  /** Messages of the assistant with which it began, and which the model did not write. */
  openingAnswers: number;
  /** Answers that were cut at the limit of tokens. */
  cutReplies: number;
  /** Whether the run's limit of tokens cut the last request's answer. A smaller one is the client's own. */
  endsCut: boolean;
  promptTokens: number;
  completionTokens: number;
  leftOut: LeftOut[];
  /** The fault of the model that the last request met; null: it was answered. */
  fault: ModelFault | null;
  /** Whether the main conversation, or the last request, asked for an answer beyond `maxTurns`. */
  isBeyondTurns: boolean;
}

/** Answers the requests of one episode with the run's model, and records them. */
export class EpisodeCapture {
  private readonly conversations = new Conversations();
  private readonly leftOut = new Set<LeftOut>();
  /** Answers whose client went away before it had them, by the hash of their request. */
  private readonly missed = new Map<string, Promise<Said>>();
  /** How often a request was answered, by its hash. */
  private readonly repeats = new Map<string, number>();
  private fault: { exchange: Exchange; fault: ModelFault } | null = null;
  private last: Exchange | null = null;
  /** The last answers that a conversation may have, where a further one was asked for. */
  private readonly beyond = new Set<Exchange | null>();
  private count = 0;
  private inside = 0;
  private waiting = 0;
  private characters = 0;
  private bytes = 0;
  private readonly cut = new Map<Exchange, { byRun: boolean }>();
  private promptTokens = 0;
  private completionTokens = 0;
  private failed!: (error: unknown) => void;
  /** Rejects with the first error of the model that concerns more than this episode. */
  readonly failure = new Promise<never>((_, reject) => (this.failed = reject));
  /** The tools of the first request; null before it. */
  tools: EnvironmentTool[] | null = null;
  /** Called when the episode begins to wait for the model, and when it no longer waits. */
  onWait: (isWaiting: boolean) => void = () => undefined;

  constructor(private readonly options: CaptureOptions) {
    this.failure.catch(() => undefined);
  }

  /** The name of the model. */
  get model(): string {
    return this.options.model;
  }

  /**
   * Counts a request, before its body is read; `leave` ends it.
   * @param bytes that it says it has.
   * @throws RefusedRequest 429 for too many.
   */
  enter(bytes: number): void {
    this.receive(bytes);
    if (this.count >= MOST_EXCHANGES || this.characters > MOST_CHARACTERS) throw episodeLimit();
    if (this.inside >= MOST_AT_A_TIME)
      throw new RefusedRequest(
        429,
        'concurrency_limit',
        `An episode has at most ${MOST_AT_A_TIME} requests at a time.`,
      );
    this.count++;
    this.inside++;
  }

  /** Counts bytes of requests. @throws RefusedRequest 429 for too many. */
  receive(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > MOST_BYTES) throw episodeLimit();
  }

  /** The client of a request has its answer, or is gone. */
  leave(): void {
    this.inside--;
  }

  /**
   * Answers a request, which is the body of a chat completion. `answer` rejects with RefusedRequest. Call `missed` if
   * the client went away before it had the answer: a repeated request gets the same one. Any other repeated request
   * gets an answer of its own.
   * @throws RefusedRequest.
   */
  ask(fields: Fields): { answer: Promise<Said>; missed: () => void } {
    const { offered, ...read } = this.read(fields, this.leftOut);
    this.tools ??= offered;
    const key = hash('sha256', canonicalJson(read), 'hex');
    let answer = this.missed.get(key);
    this.missed.delete(key);
    if (answer === undefined) {
      const repeat = this.repeats.get(key) ?? 0;
      this.repeats.set(key, repeat + 1);
      answer = this.answer(read, repeat);
    }
    const asked = answer;
    return { answer, missed: () => void this.missed.set(key, asked) };
  }

  /**
   * Number of tokens of a conversation's prompt; it is no request for an answer. Rejects with RefusedRequest, 501 where
   * the model's server does not count.
   */
  async countTokens(fields: Fields): Promise<number> {
    const { messages, tools } = this.read(fields, new Set());
    const { plan, countTokens } = this.options;
    const model = plan.modelAfter?.(messages) ?? plan.model;
    const asking = () => countTokens?.({ model, messages, tools }) ?? Promise.resolve(null);
    const count = await this.waitingFor(asking).catch(() => {
      throw new RefusedRequest(503, 'model_unavailable', 'The model server has not counted the tokens.');
    });
    if (count !== null) return count;
    throw new RefusedRequest(501, 'not_counted', "This episode's model server does not count tokens.");
  }

  /** Everything so far. */
  get captured(): Captured {
    const { main, others } = this.conversations;
    const { promptTokens, completionTokens, leftOut, fault, last, cut } = this;
    const messages = main === null ? [] : messagesOf(main);
    const answers = main === null ? 0 : main.turn + (main.answer === null ? 0 : 1);
    const opening = main === null ? [] : rootOf(main).added;
    const openingAnswers = opening.filter(({ role }) => role === 'assistant').length;
    const counts = { answers, openingAnswers, cutReplies: cut.size, promptTokens, completionTokens };
    return {
      messages,
      others,
      ...counts,
      endsCut: last !== null && cut.get(last)?.byRun === true,
      leftOut: [...leftOut].sort(),
      fault: fault !== null && fault.exchange === last ? fault.fault : null,
      isBeyondTurns: [main, last].some((one) => one !== null && this.isBeyondTurns(one)),
    };
  }

  private isBeyondTurns({ turn }: Exchange): boolean {
    return turn >= this.options.settings.maxTurns;
  }

  private async answer(read: ReadRequest, repeat: number): Promise<Said> {
    const { plan, settings, chat } = this.options;
    const { exchange, messages } = this.conversations.begin(read.messages);
    this.last = exchange;
    this.characters += charactersOf(exchange.added);
    if (this.isBeyondTurns(exchange)) {
      // The first such request has the results of the last answer's calls; its repetitions say nothing new.
      if (this.beyond.has(exchange.prior)) this.conversations.takeBack(exchange);
      this.beyond.add(exchange.prior);
      const most = `${settings.maxTurns} answers`;
      throw new RefusedRequest(400, 'turn_limit', `This conversation has reached its turn limit of ${most}.`);
    }
    const seed = plan.samplingSeed + exchange.turn;
    const request = {
      model: plan.modelAfter?.(messages) ?? plan.model,
      messages,
      tools: read.tools,
      temperature: settings.temperature,
      seed: repeat === 0 ? seed : (seed + repeat * REPEATED) % 2 ** 31,
      maxTokens: Math.min(settings.maxCompletionTokens, read.mostTokens),
      ...(Object.keys(read.passedOn).length > 0 && { further: read.passedOn }),
    };
    const answer = await this.waitingFor(() => answerOrFault(() => chat(request))).catch((error: unknown) => {
      this.failed(error);
      throw new RefusedRequest(503, 'model_unavailable', 'The run cannot ask its model any more.');
    });
    if (answer instanceof ModelFault) {
      this.fault = { exchange, fault: answer };
      throw answer.kind === 'too-long'
        ? new RefusedRequest(
            400,
            'context_length_exceeded',
            "The conversation is longer than the model's maximum context length.",
            'messages',
          )
        : new RefusedRequest(400, 'conversation_refused', 'The model server refuses this conversation.');
    }
    const message = answerMessage(answer, exchange.turn);
    this.conversations.end(exchange, message);
    this.characters += charactersOf([message]);
    if (answer.cut) this.cut.set(exchange, { byRun: read.mostTokens >= settings.maxCompletionTokens });
    this.promptTokens += answer.promptTokens;
    this.completionTokens += answer.completionTokens;
    return saidBy(message, answer);
  }

  private async waitingFor<T>(asking: () => Promise<T>): Promise<T> {
    if (this.waiting++ === 0) this.onWait(true);
    try {
      return await asking();
    } finally {
      if (--this.waiting === 0) this.onWait(false);
    }
  }

  /** @param leftOut gets what of the messages cannot be kept. */
  private read(fields: Fields, leftOut: Set<LeftOut>): ReadRequest & { offered: EnvironmentTool[] } {
    const { model, messages, tools, n } = fields;
    if (model !== this.model)
      throw new RefusedRequest(404, 'model_not_found', `This episode's model is ${this.model}.`, 'model');
    if (n !== undefined && n !== null && n !== 1)
      throw new RefusedRequest(400, 'one_answer', 'A request gets one answer: leave out n.', 'n');
    if (!Array.isArray(messages) || messages.length === 0)
      throw new RefusedRequest(400, 'no_messages', 'messages must be a list with at least one message.', 'messages');
    requireFewMessages(messages, 'messages');
    const passedOn = Object.fromEntries(
      PASSED_ON.flatMap((name) => (fields[name] === undefined || fields[name] === null ? [] : [[name, fields[name]]])),
    );
    if (!hasLevels([tools, passedOn], DEEPEST))
      throw new RefusedRequest(400, 'too_deep', `The request is nested deeper than ${DEEPEST} levels.`);
    const offered = toolsOf(tools);
    const isNone = passedOn['tool_choice'] === 'none';
    for (const [name, usual] of USUAL) if (isDeepStrictEqual(passedOn[name], usual)) delete passedOn[name];
    return {
      messages: messages.map((message, place) => messageAt(place, message, leftOut)),
      tools: isNone ? [] : offered,
      offered,
      mostTokens: Math.min(...[fields['max_tokens'], fields['max_completion_tokens']].map(limitOf)),
      passedOn,
    };
  }
}

/** A message of a request. @param leftOut gets what of it cannot be kept. @throws RefusedRequest. */
function messageAt(place: number, message: unknown, leftOut: Set<LeftOut>): ChatMessage {
  const isObject = typeof message === 'object' && message !== null;
  try {
    if (isObject) return toChatMessage(message as Fields, leftOut);
  } catch (error) {
    if (!(error instanceof ZodError)) throw error;
  }
  const param = `messages[${place}]`;
  throw new RefusedRequest(
    400,
    'bad_message',
    `${param} must be a message with a role among system, developer, user, assistant, tool.`,
    param,
  );
}

interface ReadRequest {
  messages: ChatMessage[];
  tools: EnvironmentTool[];
  mostTokens: number;
  passedOn: Fields;
}

function toolsOf(tools: unknown): EnvironmentTool[] {
  if (tools === undefined || tools === null) return [];
  if (!Array.isArray(tools)) throw new RefusedRequest(400, 'bad_tools', 'tools must be a list.', 'tools');
  return tools.map((tool, place) => {
    if (environmentToolSchema.safeParse(tool).success) return tool as EnvironmentTool;
    const param = `tools[${place}]`;
    throw new RefusedRequest(400, 'bad_tools', `${param} must be a function with a name.`, param);
  });
}

const limitOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : Infinity;

const charactersOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);

/** Whether a value is nested at most so deep. Not recursive, because a program may send anything. */
function hasLevels(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return false;
    level = level.flatMap((one): unknown[] => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return true;
}

function saidBy(message: ChatMessage, { cut, promptTokens, completionTokens }: ChatAnswer): Said {
  const calls = (message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called }));
  return {
    text: message.content ?? '',
    refusal: '',
    reasoning: message.reasoning_content ?? '',
    calls,
    end: cut ? 'length' : calls.length > 0 ? 'calls' : 'stop',
    usage: { prompt: promptTokens, completion: completionTokens, cached: 0 },
  };
}
