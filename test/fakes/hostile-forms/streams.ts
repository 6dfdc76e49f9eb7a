/** Odd but legal forms of streamed answers. */
import { SIBLING } from '../hostile-model-server';

/** A stream of events, and the message that it says. */
export interface StreamForm {
  name: string;
  source: string;
  /** The bytes after the headers. */
  bytes: string;
  /** What a trace keeps of it. Null: a trace of it would not be all that was said. */
  says: { content: string | null; calls?: [name: string, arguments: string][]; reasoning?: string } | null;
}

const event = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const chunk = (delta: object, more: object = {}, rest: object = {}): string =>
  event({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
    ...rest,
  });
const END = chunk({}, { finish_reason: 'stop' });
const DONE = event('[DONE]');
const HELLO = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'hel' }),
  chunk({ content: 'lo' }),
  END,
  DONE,
];
const hello = (change: (events: string[]) => string[]) => change([...HELLO]).join('');
const SAYS_HELLO = { content: 'hello' };

type Piece = [index: unknown, id: unknown, name: unknown, given: unknown];
const calls = (...pieces: Piece[]): string =>
  pieces
    .map(([index, id, name, given]) =>
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: given } }] }),
    )
    .join('') +
  chunk({}, { finish_reason: 'tool_calls' }) +
  DONE;
const WEIGH = { content: null, calls: [['weigh', '{"p":1}']] as [string, string][] };
const TWO = { content: null, calls: [...WEIGH.calls, ['send', '{"p":2}']] as [string, string][] };

const ROWS: [name: string, source: string, bytes: string, says: StreamForm['says']][] = [
  ['CRLF', 'WHATWG, server-sent events', hello((all) => all.map((one) => one.replaceAll('\n', '\r\n'))), SAYS_HELLO],
  [
    'no space behind the colon',
    'WHATWG, server-sent events',
    hello((all) => all.map((one) => one.replace('data: ', 'data:'))),
    SAYS_HELLO,
  ],
  [
    'comments between',
    'openai/openai-go #227',
    hello((all) => all.flatMap((one) => [': OPENROUTER PROCESSING\n\n', one])),
    SAYS_HELLO,
  ],
  [
    'a comment without a blank line',
    'theopenco/llmgateway #2334',
    hello((all) => all.flatMap((one) => [': ping\n', one])),
    SAYS_HELLO,
  ],
  [
    'empty data',
    'netease-lcap/wave-agent #1326',
    hello((all) => all.flatMap((one) => ['data:\n\n', one, 'data: \n\n'])),
    SAYS_HELLO,
  ],
  [
    'names, ids and times',
    'WHATWG, server-sent events',
    hello((all) => all.map((one, i) => `event: message\nid: ${i}\nretry: 10\n${one}`)),
    SAYS_HELLO,
  ],
  ['no [DONE]', 'ikawrakow/ik_llama.cpp #467', hello((all) => all.slice(0, -1)), SAYS_HELLO],
  ['[DONE] twice', SIBLING, hello((all) => [...all, DONE]), SAYS_HELLO],
  ['no last blank line', 'huggingface/text-generation-inference #1896', hello((all) => all).trimEnd(), SAYS_HELLO],
  [
    'the role in each delta',
    'ollama/ollama #7881',
    hello((all) => all.map((one) => one.replace('"delta":{"content"', '"delta":{"role":"assistant","content"'))),
    SAYS_HELLO,
  ],
  [
    'empty and null deltas',
    'karthink/gptel #1181',
    hello(([first, ...all]) => [
      first!,
      chunk({}),
      chunk({ content: null }),
      chunk({ content: '', tool_calls: null }),
      ...all,
    ]),
    SAYS_HELLO,
  ],
  [
    'usage behind, without choices',
    'NousResearch/hermes-agent #90848',
    hello((all) => [
      ...all.slice(0, -1),
      event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 }, lastOne: true }),
      DONE,
    ]),
    SAYS_HELLO,
  ],
  [
    'usage null in each',
    'OpenAI, stream_options',
    hello((all) => all.map((one) => one.replace('"created":1', '"created":1,"usage":null'))),
    SAYS_HELLO,
  ],
  [
    'a first event of Azure',
    'Azure, content filtering',
    hello((all) => [event({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] }), ...all]),
    SAYS_HELLO,
  ],
  [
    '[DONE] in the text',
    'BerriAI/litellm #31574',
    hello(([first, , , ...all]) => [
      first!,
      chunk({ content: 'ticket [DONE] and ' }),
      chunk({ content: 'closed' }),
      ...all,
    ]),
    { content: 'ticket [DONE] and closed' },
  ],
  ['no end at all', 'anomalyco/opencode #43882', hello(([first, second]) => [first!, second!]), null],
  [
    'an error at the end',
    'gethouston/houston #1211',
    hello(([first, second]) => [first!, second!, chunk({}, { finish_reason: 'error' }), DONE]),
    null,
  ],
  [
    'several data lines',
    'WHATWG, server-sent events',
    hello((all) => all.map((one) => one.replace('data: {', 'data: {\ndata: '))),
    SAYS_HELLO,
  ],
  [
    'reasoning',
    'vLLM, reasoning outputs',
    hello(([first, ...all]) => [first!, chunk({ reasoning_content: 'hm' }), ...all]),
    { ...SAYS_HELLO, reasoning: 'hm' },
  ],
  [
    'a refusal',
    'OpenAI, API reference',
    chunk({ role: 'assistant', refusal: 'I ' }) + chunk({ refusal: 'cannot.' }) + END + DONE,
    { content: 'I cannot.' },
  ],
  [
    'a call in pieces',
    'OpenAI, streaming',
    calls([0, 'a', 'weigh', ''], [0, undefined, undefined, '{"p"'], [0, undefined, undefined, ':1}']),
    WEIGH,
  ],
  ['nulls in later pieces', 'karthink/gptel #1181', calls([0, 'a', 'weigh', ''], [0, null, null, '{"p":1}']), WEIGH],
  ['a call in one piece', 'ollama/ollama #12557', calls([0, 'a', 'weigh', '{"p":1}']), WEIGH],
  [
    'the name in each piece',
    'ggml-org/llama.cpp #12379',
    calls([0, 'a', 'weigh', '{"p"'], [0, 'a', 'weigh', ':1}']),
    WEIGH,
  ],
  [
    'two calls by index',
    'OpenAI, streaming',
    calls(
      [0, 'a', 'weigh', '{"p"'],
      [1, 'b', 'send', '{"p"'],
      [0, undefined, undefined, ':1}'],
      [1, undefined, undefined, ':2}'],
    ),
    TWO,
  ],
  [
    'one index for all calls',
    'ollama/ollama #15457',
    calls([0, 'a', 'weigh', '{"p":1}'], [0, 'b', 'send', '{"p"'], [0, null, null, ':2}']),
    TWO,
  ],
  [
    'no indexes',
    'THU-MAIC/OpenMAIC #1556',
    calls([undefined, 'a', 'weigh', '{"p"'], [undefined, '', '', ':1}'], [undefined, 'b', 'send', '{"p":2}']),
    TWO,
  ],
  ['indexes with gaps', SIBLING, calls([3, 'a', 'weigh', '{"p":1}'], [7, 'b', 'send', '{"p":2}']), TWO],
];

/** Forms of streamed answers. */
export const STREAM_FORMS: StreamForm[] = ROWS.map(([name, source, bytes, says]) => ({ name, source, bytes, says }));
