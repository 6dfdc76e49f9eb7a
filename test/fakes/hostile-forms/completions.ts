/** Odd but legal forms of a completion around its message: its end, its counts, its choices, its bytes. */
import {
  choice,
  completionOf,
  type Form,
  namedForms,
  type Outcome,
  type Plain,
  type Reply,
  rest,
  SIBLING,
  type Row,
} from '../hostile-model-server';

const finish = (reason: unknown) => choice({ finish_reason: reason });
const held =
  (reason: string) =>
  (plain: Plain): Reply => ({
    body: completionOf(plain, { content: null, tool_calls: undefined }, { finish_reason: reason }),
  });
const heldBack = (reason: string): Outcome => ['alone', new RegExp(reason)];
const broken =
  (change: object) =>
  (plain: Plain): Reply => ({
    body: completionOf(plain, { content: 'I will', tool_calls: undefined }, change),
  });

const ENDS: Row[] = [
  ['stop with calls', 'sgl-project/sglang #2877', finish('stop'), 'played', 'answered'],
  ['tool_call', 'ml-explore/mlx-lm #782', finish('tool_call'), 'played', 'answered'],
  ['function_call', 'mudler/LocalAI #6243', finish('function_call'), 'played', 'answered'],
  ['null', 'openai/openai-openapi #20', finish(null), 'played', 'answered'],
  ['empty', 'BerriAI/litellm #20732', finish(''), 'played', 'answered'],
  ['left out', 'VicBilibily/GCMP #217', finish(undefined), 'played', 'answered'],
  ['eos_token', 'Text Generation Inference, FinishReason', finish('eos_token'), 'played', 'answered'],
  ['end_turn', 'genkit-ai/genkit #6259', finish('end_turn'), 'played', 'answered'],
  ['an object', 'SGLang, native API', finish({ type: 'stop', matched: 151645 }), 'played', 'answered'],
  ['error', 'maximhq/bifrost #5425', broken({ finish_reason: 'error' }), 'sent again', 'sent again'],
  [
    'error in the choice',
    'OpenRouter, errors and debugging',
    broken({ finish_reason: 'error', error: { code: 502, message: 'Provider returned error' } }),
    'sent again',
    'sent again',
  ],
  [
    'network_error',
    'pydantic/pydantic-ai #7816',
    broken({ finish_reason: 'network_error' }),
    'sent again',
    'sent again',
  ],
  ['abort', 'vLLM, RequestOutput', broken({ finish_reason: 'abort' }), 'sent again', 'sent again'],
  [
    'insufficient_system_resource',
    'genkit-ai/genkit #6259',
    broken({ finish_reason: 'insufficient_system_resource' }),
    'sent again',
    'sent again',
  ],
  [
    'content_filter',
    'OpenAI, API reference',
    held('content_filter'),
    heldBack('content_filter'),
    heldBack('content_filter'),
  ],
  ['sensitive', 'anomalyco/opencode #44092', held('sensitive'), heldBack('sensitive'), heldBack('sensitive')],
  [
    'guardrail_intervened',
    'pydantic/pydantic-ai #7816',
    held('guardrail_intervened'),
    heldBack('guardrail_intervened'),
    heldBack('guardrail_intervened'),
  ],
  [
    'malformed_function_call',
    'BerriAI/litellm #20732',
    held('malformed_function_call'),
    ['said', /^$/],
    ['alone', /not JSON/],
  ],
];

const CUTS: Row[] = [
  ['length', 'OpenAI, API reference', finish('length'), 'played', ['alone', /cut off/]],
  ['max_tokens', SIBLING, finish('max_tokens'), 'played'],
  ['MAX_TOKENS', SIBLING, finish('MAX_TOKENS'), 'played'],
  ['model_length', 'Mistral, API reference', finish('model_length'), 'played'],
  ['model_context_window_exceeded', 'genkit-ai/genkit #6259', finish('model_context_window_exceeded'), 'played'],
  [
    'no message at all',
    'agentgateway/agentgateway #1464',
    choice({ message: undefined, finish_reason: 'length' }),
    ['said', /^$/],
    ['alone', /cut off/],
  ],
];

const usage = (counts: unknown) => rest({ usage: counts });

const USAGES: Row[] = [
  ['left out', 'simonw/llm #1698', usage(undefined), 'played', 'answered'],
  ['null', 'typesafe-ai/system-one-adapter-python #39', usage(null), 'played', 'answered'],
  [
    'without completion_tokens',
    'agentgateway/agentgateway #1464',
    usage({ prompt_tokens: 10, total_tokens: 10 }),
    'played',
    'answered',
  ],
  [
    'counts null',
    'maximhq/bifrost #5425',
    usage({ prompt_tokens: null, completion_tokens: null }),
    'played',
    'answered',
  ],
  ['texts', SIBLING, usage({ prompt_tokens: '10', completion_tokens: '5' }), 'played', 'answered'],
  ['negative', SIBLING, usage({ prompt_tokens: -1, completion_tokens: 5 }), 'played', 'answered'],
  ['not whole', SIBLING, usage({ prompt_tokens: 10.5, completion_tokens: 5 }), 'played', 'answered'],
  ['a list', SIBLING, usage([]), 'played', 'answered'],
];

const CHOICES: Row[] = [
  ['none', 'camel-ai/camel #3027', rest({ choices: [] }), ['alone', /choices/], ['alone', /not JSON/]],
  [
    'null',
    'qualcomm/GenieX #801',
    rest({ choices: null }),
    ['alone', /choices/],
    ['waits', 'Analyst.Unavailable', /no chat completion/],
  ],
  [
    'the second one first',
    SIBLING,
    (plain) => ({
      body: {
        ...completionOf(plain),
        choices: [{ index: 1, message: { content: 'no' } }, ...(completionOf(plain) as { choices: object[] }).choices],
      },
    }),
    'played',
  ],
  ['of a stream', SIBLING, choice({ message: undefined, delta: { content: 'hi' } }), ['alone', /delta/]],
  ['with a text', 'OpenAI, legacy completions', choice({ message: undefined, text: 'hi' }), ['alone', /text/]],
  [
    'in the provider',
    'pydantic/pydantic-ai #4528',
    (plain) => ({ body: { id: null, choices: null, model: null, provider: completionOf(plain) } }),
    ['alone', /choices/],
  ],
  ['in a list', SIBLING, (plain) => ({ body: [completionOf(plain)] }), ['alone', /object/]],
];

const FIELDS: Row[] = [
  ['role left out', SIBLING, (plain) => ({ body: completionOf(plain, { role: undefined }) }), 'played', 'answered'],
  [
    'no id, created with decimals',
    'jingyaogong/minimind #738',
    rest({ id: undefined, created: 1.5, object: 'chat' }),
    'played',
    'answered',
  ],
  ['model null', 'pydantic/pydantic-ai #4528', rest({ model: null, system_fingerprint: 7 }), 'played', 'answered'],
  [
    'more than asked',
    'vLLM, OpenAI-compatible server',
    rest({ kv_transfer_params: null, prompt_logprobs: null, service_tier: {} }),
    'played',
    'answered',
  ],
  [
    'token ids',
    'vLLM, return_token_ids',
    (plain) => ({ body: completionOf(plain, {}, { token_ids: [1, 2] }, { prompt_token_ids: [3] }) }),
    'played',
    'answered',
  ],
  [
    'an error that is empty',
    'Calcium-Ion/new-api-horizon #9',
    rest({ error: { message: '', code: null } }),
    'played',
    'answered',
  ],
  [
    'log-probabilities of old',
    'OpenAI, legacy completions',
    choice({ logprobs: { tokens: ['a'], token_logprobs: [-1], top_logprobs: null } }),
    'played',
    'answered',
  ],
  ['log-probabilities a list', SIBLING, choice({ logprobs: [] }), 'played', 'answered'],
  [
    'a log-probability null',
    'PrimeIntellect-ai/prime-rl #2082',
    choice({ logprobs: { content: [{ token: 'a', logprob: null, top_logprobs: null }] } }),
    'played',
    'answered',
  ],
];

const asText = (plain: Plain) => JSON.stringify(completionOf(plain));

const BYTES: Row[] = [
  [
    'NaN',
    'Python, json.dumps with allow_nan',
    (plain) => ({
      body: asText(plain).replace(
        '"logprobs":null',
        '"logprobs":{"content":[{"token":"NaN","logprob":NaN},{"logprob":-Infinity}]}',
      ),
    }),
    'played',
    'answered',
  ],
  [
    'empty lines before',
    'router-for-me/CLIProxyAPI #2690',
    (plain) => ({ body: `\n\n\n   \n${asText(plain)}\n` }),
    'played',
    'answered',
  ],
  ['a BOM', 'RFC 8259, section 8.1', (plain) => ({ body: `\ufeff${asText(plain)}` }), 'played', 'answered'],
  [
    'escaped characters',
    'Python, json.dumps with ensure_ascii',
    (plain) => ({ body: asText(plain).replaceAll('a', '\\u0061') }),
    'played',
    'answered',
  ],
  [
    'text/plain',
    'tarasglek/chatcraft.org #515',
    (plain) => ({ body: completionOf(plain), headers: { 'content-type': 'text/plain' } }),
    'played',
    'answered',
  ],
  [
    'text/html',
    SIBLING,
    (plain) => ({ body: completionOf(plain), headers: { 'content-type': 'text/html' } }),
    'played',
    'answered',
  ],
  [
    'a charset',
    SIBLING,
    (plain) => ({ body: completionOf(plain), headers: { 'content-type': 'application/json; charset="UTF-8"' } }),
    'played',
    'answered',
  ],
  [
    'one byte at a time',
    'RFC 9112, chunked',
    (plain) => ({ body: completionOf(plain), how: 'pieces' }),
    'played',
    'answered',
  ],
  ['HTTP/1.0', 'Python, http.server', (plain) => ({ body: completionOf(plain), how: 'old' }), 'played', 'answered'],
  [
    'gzip unless it is refused',
    'RFC 9110, section 12.5.3',
    (plain) => ({ body: completionOf(plain), how: 'gzip' }),
    'played',
    'answered',
  ],
  ['status 201', SIBLING, (plain) => ({ body: completionOf(plain), status: 201 }), 'played', 'answered'],
];

/** Forms of completions. */
export const COMPLETION_FORMS: Form[] = [
  ...namedForms('end', ENDS),
  ...namedForms('cut', CUTS).map((form) => ({ ...form, isCut: true as const })),
  ...namedForms('usage', USAGES),
  ...namedForms('choices', CHOICES),
  ...namedForms('fields', FIELDS),
  ...namedForms('bytes', BYTES),
];
