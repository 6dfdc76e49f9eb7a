/** A request to `/v1/messages` as the body of a chat completion. */
import { DialectError, type Fields } from '../dialect';
import { type ChatPart, contentOf, list, notAllowed, object, refuse, renamed, text } from '../fields';

/** Members that decide the answer and have no counterpart. All other unknown members are ignored. */
const REFUSED = {
  container: 'no containers are kept here.',
  mcp_servers: 'servers of tools are not called from here: offer their tools yourself.',
};
const KEPT = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  stop_sequences: 'stop',
  seed: 'seed',
};

/**
 * Translates a request. Ignored: `metadata`, `thinking`, `service_tier`, `cache_control`, a result's `is_error` and
 * everything unknown.
 * @throws DialectError for what cannot be kept: the server's own tools, and blocks of such tools.
 */
export function messagesToChat(fields: Fields): Fields {
  refuse(fields, REFUSED);
  const { model, max_tokens: most, system, messages, stream } = fields;
  if (typeof most !== 'number' || !Number.isSafeInteger(most) || most < 1)
    throw notAllowed(most, 'max_tokens', ['a whole number from 1']);
  const given = list(messages, 'messages');
  if (given.length === 0) throw new DialectError('messages must have at least one message.', 'messages');
  const chat: Fields[] = [];
  if (system !== undefined && system !== null) {
    const content = contentOf(partsOf(system, 'system'));
    if (content !== '') chat.push({ role: 'system', content });
  }
  given.forEach((message, place) =>
    chat.push(...messagesOf(object(message, `messages[${place}]`), `messages[${place}]`)),
  );
  const tools = list(fields['tools'], 'tools').map((tool, place) => toolOf(object(tool, `tools[${place}]`), place));
  return {
    model,
    messages: chat,
    max_tokens: most,
    ...(tools.length > 0 && { tools }),
    ...toolChoice(fields['tool_choice']),
    ...renamed(fields, KEPT),
    ...format(fields['output_config']),
    ...(stream === true && { stream: true, stream_options: { include_usage: true } }),
  };
}

/** The messages of one: results of tools are messages of their own, before what the user says with them. */
function messagesOf({ role, content }: Fields, path: string): Fields[] {
  if (role === 'assistant') return [assistantMessage(content, `${path}.content`)];
  if (role !== 'user' && role !== 'system') throw notAllowed(role, `${path}.role`, ['user', 'assistant', 'system']);
  if (typeof content === 'string') return [{ role, content }];
  const results: Fields[] = [];
  const parts: ChatPart[] = [];
  list(content, `${path}.content`).forEach((given, place) => {
    const at = `${path}.content[${place}]`;
    const block = object(given, at);
    if (block['type'] !== 'tool_result') return parts.push(partOf(block, at));
    const id = text(block['tool_use_id'], `${at}.tool_use_id`);
    const said = contentOf(partsOf(block['content'], `${at}.content`));
    results.push({ role: 'tool', tool_call_id: id, content: said });
  });
  return [...results, ...(parts.length > 0 || results.length === 0 ? [{ role, content: contentOf(parts) }] : [])];
}

function assistantMessage(content: unknown, path: string): Fields {
  if (typeof content === 'string') return { role: 'assistant', content };
  const parts: ChatPart[] = [];
  const calls: Fields[] = [];
  const thoughts: string[] = [];
  list(content, path).forEach((given, place) => {
    const at = `${path}[${place}]`;
    const block = object(given, at);
    const { type } = block;
    if (type === 'thinking') thoughts.push(text(block['thinking'], `${at}.thinking`));
    else if (type === 'tool_use') {
      const called = {
        name: text(block['name'], `${at}.name`),
        arguments: JSON.stringify(object(block['input'], `${at}.input`)),
      };
      calls.push({ id: text(block['id'], `${at}.id`), type: 'function', function: called });
    } else if (type !== 'redacted_thinking') parts.push(partOf(block, at));
  });
  return {
    role: 'assistant',
    content: parts.length === 0 && calls.length > 0 ? null : contentOf(parts),
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('\n') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function partsOf(content: unknown, path: string): ChatPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return list(content, path).map((part, place) => partOf(object(part, `${path}[${place}]`), `${path}[${place}]`));
}

function partOf(block: Fields, path: string): ChatPart {
  const { type } = block;
  if (type === 'text') return { type, text: text(block['text'], `${path}.text`) };
  if (type === 'image')
    return { type: 'image_url', image_url: { url: addressOf(object(block['source'], `${path}.source`), path) } };
  if (type === 'document') return documentOf(object(block['source'], `${path}.source`), path);
  throw notAllowed(type, `${path}.type`, ['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking']);
}

function addressOf(source: Fields, path: string): string {
  const { type } = source;
  if (type === 'url') return text(source['url'], `${path}.source.url`);
  if (type !== 'base64') throw notAllowed(type, `${path}.source.type`, ['base64', 'url']);
  const data = text(source['data'], `${path}.source.data`);
  return `data:${text(source['media_type'], `${path}.source.media_type`)};base64,${data}`;
}

function documentOf(source: Fields, path: string): ChatPart {
  if (source['type'] === 'text') return { type: 'text', text: text(source['data'], `${path}.source.data`) };
  return { type: 'file', file: { file_data: addressOf(source, path) } };
}

function toolOf(tool: Fields, place: number): Fields {
  const { type } = tool;
  if (type !== undefined && type !== null && type !== 'custom')
    throw notAllowed(type, `tools[${place}].type`, ['custom']);
  const called = { name: text(tool['name'], `tools[${place}].name`) };
  const kept = { description: 'description', input_schema: 'parameters', strict: 'strict' };
  return { type: 'function', function: { ...called, ...renamed(tool, kept) } };
}

function toolChoice(given: unknown): Fields {
  if (given === undefined || given === null) return {};
  const { type, name, disable_parallel_tool_use: isSingle } = object(given, 'tool_choice');
  const parallel = isSingle === true ? { parallel_tool_calls: false } : {};
  if (type === 'auto' || type === 'none') return { tool_choice: type, ...parallel };
  if (type === 'any') return { tool_choice: 'required', ...parallel };
  if (type !== 'tool') throw notAllowed(type, 'tool_choice.type', ['auto', 'any', 'tool', 'none']);
  return { tool_choice: { type: 'function', function: { name: text(name, 'tool_choice.name') } }, ...parallel };
}

function format(config: unknown): Fields {
  if (config === undefined || config === null) return {};
  const { format: wanted } = object(config, 'output_config');
  if (wanted === undefined || wanted === null) return {};
  const { type, schema } = object(wanted, 'output_config.format');
  if (type !== 'json_schema') throw notAllowed(type, 'output_config.format.type', ['json_schema']);
  return { response_format: { type, json_schema: { name: 'answer', schema } } };
}
