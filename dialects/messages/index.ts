import { wellFormed } from '../../contracts/clean-text';
import type { AnswerNames, Dialect, EventWriter } from '../dialect';
import type { Said, SaidTexts, Usage } from '../said';
import { eventText } from '../server-sent-events';
import { messagesToChat } from './request';

/** Anthropic's messages. */
export const messagesDialect: Dialect = {
  path: '/v1/messages',
  toChat: messagesToChat,
  answer: (said, names) => ({
    ...messageOf(names),
    content: blocksOf(said),
    stop_reason: stopReason(said),
    usage: usageOf(said.usage),
  }),
  writer: (names) => new MessagesWriter(names),
  error: (status, message) => errorOf(ERROR_TYPES[status] ?? (status < 500 ? ERROR_TYPES[400] : 'api_error'), message),
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

const errorOf = (type: string | undefined, message: string) => ({
  type: 'error',
  error: { type, message: wellFormed(message) },
});

const messageOf = ({ id, model }: AnswerNames) => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [] as object[],
  stop_reason: null as string | null,
  stop_sequence: null,
});

const usageOf = ({ prompt, completion, cached }: Usage) => ({
  input_tokens: prompt - cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cached,
  output_tokens: completion,
});

const STOP_REASONS = { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens', filter: 'refusal' } as const;

const stopReason = ({ end, refusal }: Said): string => (refusal !== '' ? 'refusal' : STOP_REASONS[end]);

type Block =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: object };

/** What the model said, by blocks. A refusal is text. Arguments that are no JSON object are `{}`. */
function blocksOf({ reasoning, text, refusal, calls }: Said): Block[] {
  const said = text + refusal;
  return [
    ...(reasoning === '' ? [] : [{ type: 'thinking' as const, thinking: reasoning, signature: '' }]),
    ...(said === '' ? [] : [{ type: 'text' as const, text: said }]),
    ...calls.map(({ id, name, arguments: given }) => ({ type: 'tool_use' as const, id, name, input: inputOf(given) })),
  ];
}

function inputOf(given: string): object {
  try {
    const input: unknown = JSON.parse(given);
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {};
  } catch {
    return {};
  }
}

/** Writes a message as events. */
class MessagesWriter implements EventWriter {
  private index = 0;
  private growing: 'thinking' | 'text' | null = null;

  constructor(private readonly names: AnswerNames) {}

  begin(): string {
    const usage = usageOf({ prompt: 0, completion: 0, cached: 0 });
    return event('message_start', { message: { ...messageOf(this.names), usage } });
  }

  said({ reasoning, text, refusal }: SaidTexts): string {
    let written = '';
    if (reasoning !== '') {
      written += this.grow({ type: 'thinking', thinking: '', signature: '' });
      written += this.delta({ type: 'thinking_delta', thinking: reasoning });
    }
    if (text + refusal !== '') {
      written += this.grow({ type: 'text', text: '' });
      written += this.delta({ type: 'text_delta', text: text + refusal });
    }
    return written;
  }

  finish(said: Said): string {
    let written = this.stop();
    for (const { id, name, arguments: given } of said.calls) {
      written += this.start({ type: 'tool_use', id, name, input: {} });
      written += this.delta({ type: 'input_json_delta', partial_json: JSON.stringify(inputOf(given)) });
      written += event('content_block_stop', { index: this.index++ });
    }
    const delta = { stop_reason: stopReason(said), stop_sequence: null };
    return written + event('message_delta', { delta, usage: usageOf(said.usage) }) + event('message_stop', {});
  }

  fail(message: string): string {
    return eventText(errorOf('api_error', message), 'error');
  }

  private grow(block: Extract<Block, { type: 'thinking' | 'text' }>): string {
    if (this.growing === block.type) return '';
    const stopped = this.stop();
    this.growing = block.type;
    return stopped + this.start(block);
  }

  private start(block: Block): string {
    return event('content_block_start', { index: this.index, content_block: block });
  }

  private delta(delta: object): string {
    return event('content_block_delta', { index: this.index, delta });
  }

  private stop(): string {
    if (this.growing === null) return '';
    this.growing = null;
    return event('content_block_stop', { index: this.index++ });
  }
}

const event = (type: string, members: object): string => eventText({ type, ...members }, type);
