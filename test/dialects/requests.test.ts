// Tier: unit.
import { chatDialect, type Dialect, type Fields, messagesDialect, responsesDialect } from '../../dialects';

const call = (id: string, name: string, text: string) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

const RESPONSES: [what: string, fields: Fields, chat: Fields][] = [
  ['a text', { input: 'hi' }, { messages: [{ role: 'user', content: 'hi' }] }],
  [
    'instructions and roles',
    {
      instructions: 'be brief',
      input: [
        { role: 'developer', content: 'no jokes' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_text', text: 'b' },
          ],
        },
      ],
    },
    {
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'developer', content: 'no jokes' },
        { role: 'user', content: 'a\nb' },
      ],
    },
  ],
  [
    'reasoning, text and parallel calls of one answer as one message',
    {
      input: [
        { role: 'user', content: 'go' },
        { type: 'reasoning', id: 'rs', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
        {
          type: 'message',
          role: 'assistant',
          id: 'm',
          status: 'completed',
          content: [{ type: 'output_text', text: 'ok' }],
        },
        { type: 'function_call', id: 'fc1', call_id: 'c1', name: 'f', arguments: '{"a": 1}' },
        { type: 'function_call', id: 'fc2', call_id: 'c2', name: 'g', arguments: '{' },
        { type: 'function_call_output', call_id: 'c1', output: 'one' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'two' }] },
        { type: 'function_call', call_id: 'c3', name: 'f', arguments: '{}' },
      ],
    },
    {
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: 'ok',
          reasoning_content: 'hm',
          tool_calls: [call('c1', 'f', '{"a": 1}'), call('c2', 'g', '{')],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'one' },
        { role: 'tool', tool_call_id: 'c2', content: 'two' },
        { role: 'assistant', content: null, tool_calls: [call('c3', 'f', '{}')] },
      ],
    },
  ],
  [
    'answers that follow each other as two messages',
    {
      input: [
        { role: 'assistant', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    },
    {
      messages: [
        { role: 'assistant', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    },
  ],
  [
    'tools and settings',
    {
      input: 'x',
      tools: [{ type: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: true }],
      tool_choice: { type: 'function', name: 'f' },
      max_output_tokens: 5,
      temperature: 0,
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: true } },
      store: true,
      metadata: { a: 'b' },
      stream: true,
    },
    {
      messages: [{ role: 'user', content: 'x' }],
      tools: [
        { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } },
      ],
      tool_choice: { type: 'function', function: { name: 'f' } },
      max_tokens: 5,
      temperature: 0,
      parallel_tool_calls: false,
      reasoning_effort: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: true } },
      stream: true,
      stream_options: { include_usage: true },
    },
  ],
  [
    'an image and a file',
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'see' },
            { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' },
            { type: 'input_file', file_data: 'AA==', filename: 'a.pdf' },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
            { type: 'file', file: { file_data: 'AA==', filename: 'a.pdf' } },
          ],
        },
      ],
    },
  ],
];

const MESSAGES: [what: string, fields: Fields, chat: Fields][] = [
  [
    'system and texts',
    {
      max_tokens: 9,
      system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes' },
      ],
    },
    {
      messages: [
        { role: 'system', content: 'a' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes' },
      ],
      max_tokens: 9,
    },
  ],
  [
    'thinking, parallel calls, and their results before what the user says with them',
    {
      max_tokens: 9,
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: '' },
            { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
            { type: 'tool_use', id: 'c2', name: 'g', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'and hurry' },
            { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'one' }] },
            { type: 'tool_result', tool_use_id: 'c2', content: 'two', is_error: true },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [call('c1', 'f', '{"a":1}'), call('c2', 'g', '{}')],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'one' },
        { role: 'tool', tool_call_id: 'c2', content: 'two' },
        { role: 'user', content: 'and hurry' },
      ],
      max_tokens: 9,
    },
  ],
  [
    'tools and settings',
    {
      max_tokens: 9,
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
      top_k: 3,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      metadata: { user_id: 'u' },
    },
    {
      messages: [{ role: 'user', content: 'x' }],
      max_tokens: 9,
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      stop: ['END'],
      top_k: 3,
    },
  ],
  [
    'images',
    {
      max_tokens: 9,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
            { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
            { type: 'image_url', image_url: { url: 'https://x/y.png' } },
          ],
        },
      ],
      max_tokens: 9,
    },
  ],
];

test.each(RESPONSES)('a request for a response: %s', (_, fields, chat) => {
  expect(responsesDialect.toChat({ model: 'm', ...fields })).toEqual({ model: 'm', ...chat });
});

test.each(MESSAGES)('a request for a message: %s', (_, fields, chat) => {
  expect(messagesDialect.toChat({ model: 'm', ...fields })).toEqual({ model: 'm', ...chat });
});

const user = [{ role: 'user', content: 'x' }];
const REFUSED: [dialect: Dialect, fields: Fields, param: string][] = [
  [responsesDialect, {}, 'input'],
  [responsesDialect, { input: 'x', previous_response_id: 'resp_1' }, 'previous_response_id'],
  [responsesDialect, { input: 'x', conversation: 'c' }, 'conversation'],
  [responsesDialect, { input: 'x', background: true }, 'background'],
  [responsesDialect, { input: 'x', tools: [{ type: 'web_search' }] }, 'tools[0].type'],
  [responsesDialect, { input: 'x', tool_choice: { type: 'mcp' } }, 'tool_choice.type'],
  [responsesDialect, { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].type'],
  [responsesDialect, { input: [null] }, 'input[0]'],
  [responsesDialect, { input: [{ role: 'robot', content: '' }] }, 'input[0].role'],
  [responsesDialect, { input: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'input[0].content[0].type'],
  [responsesDialect, { input: [{ type: 'function_call', call_id: 'c', name: 'f' }] }, 'input[0].arguments'],
  [messagesDialect, { messages: user }, 'max_tokens'],
  [messagesDialect, { messages: user, max_tokens: 0.5 }, 'max_tokens'],
  [messagesDialect, { messages: [], max_tokens: 1 }, 'messages'],
  [messagesDialect, { messages: {}, max_tokens: 1 }, 'messages'],
  [messagesDialect, { messages: user, max_tokens: 1, tools: [{ type: 'bash_20250124' }] }, 'tools[0].type'],
  [messagesDialect, { messages: user, max_tokens: 1, mcp_servers: [] }, 'mcp_servers'],
  [messagesDialect, { messages: [{ role: 'tool', content: '' }], max_tokens: 1 }, 'messages[0].role'],
  [
    messagesDialect,
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: 1 }] }], max_tokens: 1 },
    'messages[0].content[0].input',
  ],
];

test.each(REFUSED)('%o refuses %j because of %s', (dialect, fields, param) => {
  expect(() => dialect.toChat(fields)).toThrow(expect.objectContaining({ name: 'DialectError', param }));
});

test('an item that is sent by its id alone is refused with what helps', () => {
  const input = [{ type: 'item_reference', id: 'msg_1' }];
  expect(() => responsesDialect.toChat({ model: 'm', input })).toThrow('make the request with `store: false`');
});

test('a chat completion stays as it is', () => {
  const fields = { messages: user, whatever: 1 };
  expect(chatDialect.toChat(fields)).toBe(fields);
});
