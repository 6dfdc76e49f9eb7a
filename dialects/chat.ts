import { openAiError } from '../contracts/messages/openai-error';
import { type AnswerNames, type Dialect, type EventWriter, openAiErrorType } from './dialect';
import type { Said, Usage } from './said';
import { eventText } from './server-sent-events';

/** OpenAI's chat completions, which all other dialects are translated to. Requests stay as they are. */
export const chatDialect: Dialect = {
  path: '/v1/chat/completions',
  toChat: (fields) => fields,
  answer: (said, { id, model, created }) => ({
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: said.text === '' && said.calls.length > 0 ? null : said.text,
          refusal: said.refusal || null,
          ...(said.reasoning !== '' && { reasoning_content: said.reasoning }),
          ...(said.calls.length > 0 && { tool_calls: said.calls.map(callOf) }),
        },
        logprobs: null,
        finish_reason: FINISH[said.end],
      },
    ],
    usage: usageOf(said.usage),
  }),
  writer: (names) => new ChatWriter(names),
  error: (status, message, param, code) => openAiError(message, openAiErrorType(status), param, code),
};

const FINISH = { stop: 'stop', calls: 'tool_calls', length: 'length', filter: 'content_filter' } as const;

const callOf = ({ id, name, arguments: text }: Said['calls'][number]) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

const usageOf = ({ prompt, completion, cached }: Usage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
});

class ChatWriter implements EventWriter {
  constructor(private readonly names: AnswerNames) {}

  begin(): string {
    return this.chunk({ role: 'assistant', content: '' });
  }

  said({ reasoning, text, refusal }: Said): string {
    const delta = {
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(text !== '' && { content: text }),
      ...(refusal !== '' && { refusal }),
    };
    return Object.keys(delta).length === 0 ? '' : this.chunk(delta);
  }

  finish({ calls, end, usage }: Said): string {
    const made = calls.map((call, index) => ({ index, ...callOf(call) }));
    const options = this.names.asked['stream_options'] as { include_usage?: unknown } | null | undefined;
    return (
      (made.length > 0 ? this.chunk({ tool_calls: made }) : '') +
      this.chunk({}, FINISH[end]) +
      (options?.include_usage === true ? eventText({ ...this.head(), choices: [], usage: usageOf(usage) }) : '') +
      eventText('[DONE]')
    );
  }

  fail(message: string): string {
    return eventText(openAiError(message, 'server_error', null, 'upstream_error'));
  }

  private chunk(delta: object, finish: string | null = null): string {
    return eventText({ ...this.head(), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
  }

  private head() {
    const { id, model, created } = this.names;
    return { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model };
  }
}
