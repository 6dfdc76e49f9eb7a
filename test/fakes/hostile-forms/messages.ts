/** Odd but legal forms of a message: its content, its reasoning, its calls. */
import {
  callsOf,
  completionOf,
  type Form,
  message,
  namedForms,
  SIBLING,
  type Outcome,
  type Plain,
  type Row,
  text,
} from '../hostile-model-server';

const NO_OBJECT: Outcome = ['observed', /^Error: the arguments of (?:weigh|send) are not a JSON object\.$/];
const UNKNOWN_TOOL: Outcome = ['observed', /^no such tool$/];
const NO_PARCEL: Outcome = ['observed', /^no such parcel$/];
const NO_JSON: Outcome = ['alone', /not JSON/];

const parts = ({ content }: Plain) => (content === null ? [] : [{ type: 'text', text: content }]);

const CONTENT: Row[] = [
  [
    'left out',
    'OpenAI, API reference',
    message(({ content }) => ({ content: content ?? undefined })),
    'played',
    'answered',
  ],
  [
    'empty beside calls',
    'ollama/ollama #5995',
    message(({ content }) => ({ content: content ?? '' })),
    'played',
    'answered',
  ],
  ['parts or none', '0xPlaygrounds/rig #1136', message((plain) => ({ content: parts(plain) })), 'played', 'answered'],
  [
    'texts in a list',
    'LangChain, messages',
    message(({ content }) => ({ content: content === null ? [] : [content] })),
    'played',
    'answered',
  ],
  [
    'unknown parts',
    'nextcloud/integration_openai #408',
    message((plain) => ({ content: [{ type: 'reference', reference_ids: [1] }, ...parts(plain)] })),
    'played',
    'answered',
  ],
  ['a number', SIBLING, text(7), ['alone', /content/], NO_JSON],
  [
    'half a surrogate pair',
    'anthropics/claude-code #3277',
    (plain) => ({
      body: JSON.stringify(completionOf(plain, { content: 'HALF', tool_calls: undefined })).replace(
        'HALF',
        'half \\ud83d',
      ),
    }),
    ['said', /^half [\ud83d\ufffd]$/],
    NO_JSON,
  ],
  ['NUL', SIBLING, text('nul \u0000 here'), ['said', /^nul \u0000 here$/], NO_JSON],
  ['very long', SIBLING, text('long '.repeat(60_000)), ['said', /^(?:long ){60000}$/], NO_JSON],
  [
    'a refusal',
    'OpenAI, API reference',
    text(null, { refusal: 'I cannot.' }),
    ['said', /^I cannot\.$/],
    ['alone', /refused: I cannot\./],
  ],
  [
    'a refusal as a part',
    'OpenAI, API reference',
    text([{ type: 'refusal', refusal: 'I cannot.' }]),
    ['said', /^I cannot\.$/],
    NO_JSON,
  ],
  ['nothing', 'Birfy/agentdescent #11', text(null), ['said', /^$/], NO_JSON],
  [
    'JSON behind thinking in marks',
    'vLLM, reasoning outputs',
    (plain) => message({ content: plain.content && `<think>\nhm {"a":\n</think>\n\n${plain.content}` })(plain),
    undefined,
    'answered',
  ],
  [
    'JSON in a fence',
    'nanobrowser/nanobrowser #268',
    (plain) => message({ content: plain.content && `\`\`\`json\n${plain.content}\n\`\`\`` })(plain),
    undefined,
    'answered',
  ],
];

const REASONING: Row[] = [
  [
    'a part',
    'vercel/ai #13703',
    message((plain) => ({
      content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }, ...parts(plain)],
    })),
    'played',
    'answered',
  ],
  ['reasoning_content', 'vLLM, reasoning outputs', message({ reasoning_content: 'hm' }), 'played', 'answered'],
  [
    'reasoning',
    'OpenRouter, reasoning tokens',
    message({ reasoning: 'hm', reasoning_details: [{ text: 'hm' }] }),
    'played',
    'answered',
  ],
];

const EMPTY_CALLS: Row[] = [
  ['null', 'chr15m/runprompt #34', text('well', { tool_calls: null }), ['said', /^well$/]],
  ['an empty list', SIBLING, text('well', { tool_calls: [], function_call: null }), ['said', /^well$/]],
  [
    'announced, but none',
    'mudler/LocalAI #6243',
    (plain) => ({
      body: completionOf(plain, { content: 'well', tool_calls: undefined }, { finish_reason: 'tool_calls' }),
    }),
    ['said', /^well$/],
  ],
];

/** Changes each call of the message. */
const calls = (change: (call: ReturnType<typeof callsOf>[number]) => object) =>
  message((plain) => ({ tool_calls: callsOf(plain).map(change) }));
const each = (change: object) => calls((call) => ({ ...call, ...change }));
const called = (change: object) => calls((call) => ({ ...call, function: { ...call.function, ...change } }));
const legacy = (plain: Plain) => ({ function_call: callsOf(plain)[0]?.function });

const CALLS: Row[] = [
  ['without an id', 'chouzz/llm-interceptor #86', each({ id: undefined }), 'played'],
  ['with an empty id', 'vercel/ai #7834', each({ id: '' }), 'played'],
  ['with the id of an earlier turn', 'vellum-ai/vellum-assistant #320', each({ id: 'call_0' }), 'played'],
  ['without a type, with an index', 'ollama/ollama #7881', each({ type: undefined, index: 0 }), 'played'],
  [
    'as the function_call of old',
    'xusenlinzy/api-for-open-llm #193',
    message((plain) => ({ tool_calls: undefined, ...legacy(plain) })),
    'played',
  ],
  ['as both', 'OpenAI, API reference', message(legacy), 'played'],
  ['without a function', SIBLING, each({ function: undefined }), ['alone', /tool_calls.*function/]],
  ['as an object', SIBLING, message((plain) => ({ tool_calls: callsOf(plain)[0] })), ['alone', /tool_calls/]],
  ['name null', 'xorbitsai/xagent #1504', called({ name: null }), ['alone', /function.*name/]],
  ['name empty', 'karthink/gptel #1550', called({ name: '' }), UNKNOWN_TOOL],
  ['name with a namespace', 'openai/harmony, message format', called({ name: 'functions.weigh' }), UNKNOWN_TOOL],
  ['name with a control token', SIBLING, called({ name: 'weigh<|channel|>commentary' }), UNKNOWN_TOOL],
];

const given = (value: unknown) => called({ arguments: value });
const written = (write: (text: string) => unknown) =>
  calls((call) => ({ ...call, function: { ...call.function, arguments: write(call.function.arguments) } }));

const ARGUMENTS: Row[] = [
  ['an object', 'ollama/ollama #12557', written((json) => JSON.parse(json) as unknown), 'played'],
  ['with white space', SIBLING, written((json) => `\n  ${json.replace(':', ' :\t')}\n`), 'played'],
  ['empty', 'vllm-project/vllm #19419', given(''), NO_PARCEL],
  ['white space', SIBLING, given(' \n'), NO_PARCEL],
  ['null', SIBLING, given(null), NO_PARCEL],
  ['left out', SIBLING, given(undefined), NO_PARCEL],
  ['the word null', SIBLING, given('null'), NO_PARCEL],
  ['broken', 'vllm-project/vllm #47761', given('{"parcel": '), NO_OBJECT],
  ['JSON in a string', 'vllm-project/vllm #54964', written((json) => JSON.stringify(json)), NO_OBJECT],
  ['with text behind', SIBLING, written((json) => `${json}</tool_call>`), NO_OBJECT],
  ['with NaN', SIBLING, given('{"parcel": NaN}'), NO_OBJECT],
  ['with a bad escape', 'mistralai/mistral-vibe #216', given('{"parcel": "C:\\Users"}'), NO_OBJECT],
  ['with a raw newline', 'mistralai/mistral-vibe #615', given('{"parcel": "P\n1"}'), NO_OBJECT],
  ['a list', SIBLING, given([]), NO_OBJECT],
  ['a number', 'vllm-project/vllm #48922', given(7), NO_OBJECT],
  ['very deep', SIBLING, given(`{"parcel":${'['.repeat(60)}${']'.repeat(60)}}`), NO_OBJECT],
  ['with half a surrogate pair', 'anthropics/claude-code #60394', given('{"parcel":"\\ud83d"}'), NO_PARCEL],
];

/** Forms of messages. */
export const MESSAGE_FORMS: Form[] = [
  ...namedForms('content', CONTENT),
  ...namedForms('reasoning', REASONING).map((form) => ({ ...form, thought: 'hm' })),
  ...namedForms('calls', EMPTY_CALLS),
  ...namedForms('call', CALLS),
  ...namedForms('arguments', ARGUMENTS),
];
