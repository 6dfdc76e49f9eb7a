/** A request to `/v1/responses` as the body of a chat completion. */
import { DialectError, type Fields } from '../dialect';
import { type ChatPart, contentOf, list, notAllowed, object, refuse, renamed, text } from '../fields';

const NO_MEMORY = 'no answers are kept here: send the whole conversation in `input`.';
const NO_ITEMS =
  'no answers are kept here, so that an item cannot be sent by its id: make the request with `store: false`.';
/** Members that decide the answer and have no counterpart. All other unknown members are ignored. */
const REFUSED = {
  previous_response_id: NO_MEMORY,
  conversation: NO_MEMORY,
  background: 'answers are not made in the background here.',
  prompt: 'no templates of prompts are kept here: send `instructions` and `input`.',
};
const KEPT = {
  max_output_tokens: 'max_tokens',
  temperature: 'temperature',
  top_p: 'top_p',
  parallel_tool_calls: 'parallel_tool_calls',
  user: 'user',
  seed: 'seed',
  stop: 'stop',
};

/**
 * Translates a request. Ignored: `store`, `include`, `metadata`, `truncation`, `service_tier`, `prompt_cache_key` and
 * everything unknown.
 * @throws DialectError for what cannot be kept: stored answers, tools other than functions, items of such tools.
 */
export function responsesToChat(fields: Fields): Fields {
  refuse(fields, REFUSED);
  const { model, instructions, input, stream } = fields;
  const messages = new Messages();
  if (typeof instructions === 'string' && instructions !== '')
    messages.list.push({ role: 'system', content: instructions });
  if (typeof input === 'string') messages.list.push({ role: 'user', content: input });
  else if (!Array.isArray(input)) throw notAllowed(input, 'input', ['a text', 'a list of items']);
  else input.forEach((item, place) => messages.add(object(item, `input[${place}]`), `input[${place}]`));
  const tools = list(fields['tools'], 'tools').map((tool, place) => toolOf(object(tool, `tools[${place}]`), place));
  return {
    model,
    messages: messages.list,
    ...(tools.length > 0 && { tools }),
    ...toolChoice(fields['tool_choice']),
    ...renamed(fields, KEPT),
    ...effort(fields['reasoning']),
    ...format(fields['text']),
    ...(stream === true && { stream: true, stream_options: { include_usage: true } }),
  };
}

/** The messages of the items so far. What one answer said comes as several items, and is one message again. */
class Messages {
  readonly list: Fields[] = [];
  /** The assistant's message to which further items belong. */
  private open: (Fields & { tool_calls?: Fields[] }) | null = null;

  add(item: Fields, path: string): void {
    const { type = 'message' } = item;
    if (type === 'reasoning') this.addReasoning(item, path);
    else if (type === 'function_call') this.addCall(item, path);
    else if (type === 'function_call_output') {
      this.open = null;
      const content = contentOf(partsOf(item['output'], `${path}.output`));
      this.list.push({ role: 'tool', tool_call_id: text(item['call_id'], `${path}.call_id`), content });
    } else if (type === 'message') this.addMessage(item, path);
    else if (type === 'item_reference') throw new DialectError(`${path}: ${NO_ITEMS}`, `${path}.type`);
    else throw notAllowed(type, `${path}.type`, ['message', 'reasoning', 'function_call', 'function_call_output']);
  }

  private addMessage({ role, content }: Fields, path: string): void {
    if (role !== 'assistant') {
      this.open = null;
      if (role !== 'user' && role !== 'system' && role !== 'developer')
        throw notAllowed(role, `${path}.role`, ['user', 'assistant', 'system', 'developer']);
      this.list.push({ role, content: contentOf(partsOf(content, `${path}.content`)) });
      return;
    }
    if (this.open === null || this.open['content'] !== null || this.open.tool_calls !== undefined) this.begin();
    this.open!['content'] = contentOf(partsOf(content, `${path}.content`));
  }

  private addReasoning({ content, summary }: Fields, path: string): void {
    const said = list(content, `${path}.content`);
    const texts = (said.length > 0 ? said : list(summary, `${path}.summary`)).map((part, place) =>
      text(object(part, `${path}[${place}]`)['text'], `${path}[${place}].text`),
    );
    this.begin();
    if (texts.length > 0) this.open!['reasoning_content'] = texts.join('\n');
  }

  private addCall({ call_id: id, name, arguments: given }: Fields, path: string): void {
    if (this.open === null) this.begin();
    this.open!.tool_calls ??= [];
    const called = { name: text(name, `${path}.name`), arguments: text(given, `${path}.arguments`) };
    this.open!.tool_calls.push({ id: text(id, `${path}.call_id`), type: 'function', function: called });
  }

  private begin(): void {
    this.open = { role: 'assistant', content: null };
    this.list.push(this.open);
  }
}

function partsOf(content: unknown, path: string): ChatPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return list(content, path).map((part, place) => partOf(object(part, `${path}[${place}]`), `${path}[${place}]`));
}

const TEXTS = ['input_text', 'output_text', 'text'];

function partOf(part: Fields, path: string): ChatPart {
  const { type } = part;
  if (typeof type === 'string' && TEXTS.includes(type))
    return { type: 'text', text: text(part['text'], `${path}.text`) };
  if (type === 'refusal') return { type: 'text', text: text(part['refusal'], `${path}.refusal`) };
  if (type === 'input_image') {
    const url = text(part['image_url'], `${path}.image_url`);
    return { type: 'image_url', image_url: { url, ...renamed(part, { detail: 'detail' }) } };
  }
  if (type === 'input_audio') return { type, input_audio: part['input_audio'] };
  if (type === 'input_file')
    return { type: 'file', file: renamed(part, { file_id: 'file_id', file_data: 'file_data', filename: 'filename' }) };
  throw notAllowed(type, `${path}.type`, ['input_text', 'output_text', 'refusal', 'input_image', 'input_file']);
}

function toolOf(tool: Fields, place: number): Fields {
  const { type } = tool;
  if (type !== 'function') throw notAllowed(type, `tools[${place}].type`, ['function']);
  const called = { name: text(tool['name'], `tools[${place}].name`) };
  const kept = { description: 'description', parameters: 'parameters', strict: 'strict' };
  return { type, function: { ...called, ...renamed(tool, kept) } };
}

function toolChoice(choice: unknown): Fields {
  if (choice === undefined || choice === null) return {};
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { tool_choice: choice };
  const { type, name } = object(choice, 'tool_choice');
  if (type !== 'function') throw notAllowed(type, 'tool_choice.type', ['function']);
  return { tool_choice: { type, function: { name: text(name, 'tool_choice.name') } } };
}

function effort(reasoning: unknown): Fields {
  if (reasoning === undefined || reasoning === null) return {};
  return renamed(object(reasoning, 'reasoning'), { effort: 'reasoning_effort' });
}

function format(given: unknown): Fields {
  if (given === undefined || given === null) return {};
  const { format: wanted } = object(given, 'text');
  if (wanted === undefined || wanted === null) return {};
  const { type, ...schema } = object(wanted, 'text.format');
  if (type === 'text') return {};
  if (type === 'json_object') return { response_format: { type } };
  if (type === 'json_schema') return { response_format: { type, json_schema: schema } };
  throw new DialectError('text.format.type must be text, json_object or json_schema.', 'text.format.type');
}
