import { hash } from 'node:crypto';
import type { ChatMessage } from '../../../contracts/artifacts/trajectory';
import { canonicalJson } from '../../../contracts/artifacts/trajectory-id';

/** One request of a program, and its answer. */
export interface Exchange {
  /** The place of the request among all of the episode. */
  readonly number: number;
  /** The exchange whose answer this request goes on from; null: a conversation begins. */
  readonly prior: Exchange | null;
  /** Number of answers before in its conversation. */
  readonly turn: number;
  /** The messages of the request after the answer of `prior`. */
  readonly added: readonly ChatMessage[];
  /** The model's answer; null while there is none, and where the model gave none. */
  answer: ChatMessage | null;
}

/**
 * The conversations of an episode as trees: a request whose messages extend an earlier request and its answer goes on
 * from it. Sub-agents and parallel requests make further conversations.
 */
export class Conversations {
  private readonly exchanges: Exchange[] = [];
  /** By the hash of all messages up to and including the answer. */
  private readonly answered = new Map<string, Exchange>();
  private readonly prompts = new WeakMap<Exchange, string>();

  /**
   * Adds a request. `messages` is not empty. Returns them too, with the model's own answers as it gave them: programs
   * write the arguments of calls in another way, and the calls in another order.
   */
  begin(messages: readonly ChatMessage[]): { exchange: Exchange; messages: ChatMessage[] } {
    let prior: Exchange | null = null;
    let from = 0;
    let prompt = '';
    const asGiven: ChatMessage[] = [];
    for (const [place, message] of messages.entries()) {
      prompt = extended(prompt, message);
      const found = message.role === 'assistant' ? this.answered.get(prompt) : undefined;
      if (found !== undefined) [prior, from] = [found, place + 1];
      asGiven.push(found?.answer ? withReasoningOf(message, found.answer) : message);
    }
    const { length } = this.exchanges;
    const turn = prior === null ? 0 : prior.turn + 1;
    const exchange = { number: length, prior, turn, added: messages.slice(from), answer: null };
    this.exchanges.push(exchange);
    this.prompts.set(exchange, prompt);
    return { exchange, messages: asGiven };
  }

  /** Removes a request, which has no answer. */
  takeBack(exchange: Exchange): void {
    this.exchanges.splice(this.exchanges.indexOf(exchange), 1);
  }

  /** Adds the answer to a request. */
  end(exchange: Exchange, answer: ChatMessage): void {
    exchange.answer = answer;
    this.answered.set(extended(this.prompts.get(exchange)!, answer), exchange);
  }

  /**
   * The last exchange of the main conversation; null if there is none. It is the longest one that goes on from the
   * first request, and of equally long ones the last. If the first request is not gone on from, as when a small request
   * decides what follows, it is the longest of all; if that has one request too, and the first one was refused, it is
   * the last that has an answer.
   */
  get main(): Exchange | null {
    const [first] = this.exchanges;
    if (first === undefined) return null;
    const ofFirst = longest(this.exchanges.filter((one) => rootOf(one) === first));
    const ofAll = longest(this.exchanges);
    if (ofFirst.turn === 0 && ofAll.turn > 0) return ofAll;
    const answered = this.exchanges.findLast(({ answer }) => answer !== null);
    return ofFirst.turn === 0 && first.answer === null && answered !== undefined ? answered : ofFirst;
  }

  /** The messages of all conversations but the main one, each to its end. */
  get others(): ChatMessage[][] {
    const { main } = this;
    const goneOn = new Set(this.exchanges.map(({ prior }) => prior));
    return this.exchanges.filter((one) => one !== main && !goneOn.has(one)).map(messagesOf);
  }
}

/** All messages of a conversation up to an exchange, its answer included. */
export function messagesOf(exchange: Exchange): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (let one: Exchange | null = exchange; one !== null; one = one.prior)
    messages.unshift(...one.added, ...(one.answer === null ? [] : [one.answer]));
  return messages;
}

/** The first exchange of a conversation. */
export function rootOf(exchange: Exchange): Exchange {
  let root = exchange;
  while (root.prior !== null) root = root.prior;
  return root;
}

/** The last of the exchanges with the most answers before them; there is at least one. */
const longest = (exchanges: readonly Exchange[]): Exchange =>
  exchanges.reduce((found, one) => (one.turn >= found.turn ? one : found));

/** The model's answer. Whether its reasoning is sent back is up to the program. */
function withReasoningOf({ reasoning_content: reasoning }: ChatMessage, answer: ChatMessage): ChatMessage {
  if (reasoning !== undefined) return { ...answer, reasoning_content: reasoning };
  const { reasoning_content: _, ...without } = answer;
  return without;
}

/**
 * The hash of a conversation with one more message. Programs may drop reasoning, trim texts, put the calls that they
 * cannot read last, and write the arguments of a call in another way; what is no JSON object comes back as an empty
 * one.
 */
function extended(before: string, { role, content, tool_calls: calls = [], tool_call_id: id }: ChatMessage): string {
  const made = calls.map((call) => JSON.stringify([call.id, call.function.name, argumentsOf(call)])).sort();
  return hash('sha256', JSON.stringify([before, role, content?.trim() ?? '', made, id ?? null]), 'hex');
}

function argumentsOf({ function: called }: NonNullable<ChatMessage['tool_calls']>[number]): string {
  try {
    const value: unknown = JSON.parse(called.arguments);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? canonicalJson(value) : '{}';
  } catch {
    return '{}';
  }
}
