import { openAiError } from '../../contracts/messages/openai-error';
import { type AnswerNames, type Dialect, openAiErrorType } from '../dialect';
import type { Said, Usage } from '../said';
import { ResponsesWriter } from './events';
import { callItem, messageItem, reasoningItem } from './items';
import { responsesToChat } from './request';

/** OpenAI's responses. */
export const responsesDialect: Dialect = {
  path: '/v1/responses',
  toChat: responsesToChat,
  answer: (said, names) => responseOf(said, names),
  writer: (names) => new ResponsesWriter(names, responseOf),
  error: (status, message, param, code) => openAiError(message, openAiErrorType(status), param, code),
};

/** The body of a response; `said` null: it has only begun. */
function responseOf(said: Said | null, { id, model, created, asked }: AnswerNames): object {
  const repeated = (name: string, otherwise: unknown) => asked[name] ?? otherwise;
  const isWhole = said !== null && said.end !== 'length' && said.end !== 'filter';
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    status: said === null ? 'in_progress' : isWhole ? 'completed' : 'incomplete',
    error: null,
    incomplete_details:
      said === null || isWhole ? null : { reason: said.end === 'length' ? 'max_output_tokens' : 'content_filter' },
    instructions: repeated('instructions', null),
    max_output_tokens: repeated('max_output_tokens', null),
    metadata: repeated('metadata', {}),
    model,
    output: said === null ? [] : itemsOf(said, id),
    parallel_tool_calls: repeated('parallel_tool_calls', true),
    previous_response_id: null,
    reasoning: repeated('reasoning', { effort: null, summary: null }),
    store: false,
    temperature: repeated('temperature', null),
    text: repeated('text', { format: { type: 'text' } }),
    tool_choice: repeated('tool_choice', 'auto'),
    tools: repeated('tools', []),
    top_p: repeated('top_p', null),
    truncation: 'disabled',
    usage: said === null ? null : usageOf(said.usage),
  };
}

/** A model that says nothing and calls nothing gives an empty message. */
function itemsOf(said: Said, id: string): object[] {
  const hasMessage = said.text !== '' || said.refusal !== '' || said.calls.length === 0;
  return [
    ...(said.reasoning === '' ? [] : [reasoningItem(id, said.reasoning)]),
    ...(hasMessage ? [messageItem(id, said)] : []),
    ...said.calls.map((call, place) => callItem(id, call, place)),
  ];
}

const usageOf = ({ prompt, completion, cached }: Usage) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: prompt + completion,
});
