/** Refusals: of one conversation, and of all. */
import { alone, type Form, namedForms, type Outcome, type Row, sent, SIBLING } from '../hostile-model-server';

/** Refusals of one conversation in the forms of their bodies. */
const REFUSALS: Row[] = [
  [
    'in OpenAI form',
    'OpenAI, error codes',
    sent(400, { error: { message: 'bad messages', type: 'invalid_request_error', param: null, code: null } }),
    alone(/400: bad messages/),
    ['waits', 'Analyst.BadRequest', /bad messages/],
  ],
  [
    'in a list',
    'FuzzAnything/PromptFuzz #42',
    sent(400, [{ error: { code: 400, message: 'bad payload', status: 'INVALID_ARGUMENT' } }]),
    alone(/400: bad payload/),
    ['waits', 'Analyst.BadRequest', /bad payload/],
  ],
  [
    'as a text',
    'lmstudio-ai/lmstudio-bug-tracker #307',
    sent(400, { error: "'response_format.type' must be 'json_schema'" }),
    alone(/must be 'json_schema'/),
    ['waits', 'Analyst.BadRequest', /must be 'json_schema'/],
  ],
  [
    'as a detail',
    'open-webui/open-webui #11906',
    sent(422, { detail: 'not this' }),
    alone(/422: not this/),
    ['waits', 'Analyst.BadRequest', /not this/],
  ],
  [
    'as details',
    'chatchat-space/Langchain-Chatchat #4826',
    sent(422, { detail: [{ type: 'missing', loc: ['body', 'messages', 0], msg: 'Field required' }] }),
    alone(/body\.messages\.0: Field required/),
    ['waits', 'Analyst.BadRequest', /Field required/],
  ],
  [
    'of old vLLM',
    'vllm-project/vllm, ErrorResponse',
    sent(400, { object: 'error', message: 'bad role', type: 'BadRequestError', code: 400 }),
    alone(/bad role/),
    ['waits', 'Analyst.BadRequest', /bad role/],
  ],
  [
    'in errors',
    'Cloudflare, API responses',
    sent(400, { success: false, errors: [{ code: 5006, message: 'bad input' }] }),
    alone(/bad input/),
    ['waits', 'Analyst.BadRequest', /bad input/],
  ],
  [
    'with the provider in metadata',
    'open-webui/computer #293',
    sent(400, { error: { message: 'Provider returned error', code: 400, metadata: { raw: 'roles must alternate' } } }),
    alone(/roles must alternate/),
    ['waits', 'Analyst.BadRequest', /roles must alternate/],
  ],
  [
    'in plain text',
    SIBLING,
    sent(400, 'no such role', { 'content-type': 'text/plain' }),
    alone(/no such role/),
    ['waits', 'Analyst.BadRequest', /no such role/],
  ],
  ['without words', SIBLING, sent(400), alone(/refused the request with 400/), ['waits', 'Analyst.BadRequest', /400/]],
  [
    'a call that failed',
    'groq/groq-typescript #28',
    sent(400, {
      error: { message: 'Failed to call a function.', code: 'tool_use_failed', failed_generation: '<function=' },
    }),
    alone(/Failed to call a function/),
  ],
  [
    'too large',
    'RFC 9110, section 15.5.14',
    sent(413, '<html>413 Request Entity Too Large</html>'),
    alone(/413/),
    alone(/413/),
  ],
  [
    'Azure content filter',
    'compl-ai/compl-ai #20',
    sent(400, {
      error: { message: "triggering Azure OpenAI's content management policy", code: 'content_filter', innererror: {} },
    }),
    alone(/content management policy/),
    alone(/content management policy/),
  ],
  [
    'the same through LiteLLM',
    'BerriAI/litellm #16231',
    sent(400, { error: { message: 'litellm.ContentPolicyViolationError', type: null, code: '400' } }),
    alone(/ContentPolicyViolation/),
    alone(/ContentPolicyViolation/),
  ],
  [
    'moderation',
    'OpenRouter, errors and debugging',
    sent(403, { error: { code: 403, message: 'model requires moderation and your input was flagged' } }),
    alone(/flagged/),
    alone(/flagged/),
  ],
];

const long = (words: string): Outcome => ['too long', new RegExp(words)];
const tooLong = (name: string, source: string, status: number, body: unknown, words: string): Row => [
  name,
  source,
  sent(status, body),
  long(words),
  alone(new RegExp(words)),
];

const TOO_LONG: Row[] = [
  tooLong(
    'OpenAI',
    'run-llama/llama_index #948',
    400,
    { error: { message: 'reduce your prompt', code: 'context_length_exceeded' } },
    'reduce your prompt',
  ),
  tooLong(
    'vLLM',
    'run-llama/llama_index #948',
    400,
    { object: 'error', message: "This model's maximum context length is 2048 tokens.", code: 400 },
    'maximum context length',
  ),
  tooLong(
    'llama.cpp',
    'melagiri/code-insights #271',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
      },
    },
    'context size',
  ),
  tooLong(
    'llama-cpp-python',
    'abetlen/llama-cpp-python #416',
    400,
    { error: { message: 'Requested tokens (516) exceed context window of 512' } },
    'context window',
  ),
  tooLong(
    'TGI',
    'huggingface/huggingface_hub #1735',
    422,
    { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192', error_type: 'validation' },
    'must be <= 8192',
  ),
  tooLong(
    'Hugging Face',
    'huggingface/huggingface_hub #1735',
    400,
    'Input is too long for this model, shorten your input',
    'too long for this model',
  ),
  tooLong(
    'Gemini',
    'Gemini, OpenAI compatibility',
    400,
    [{ error: { code: 400, message: 'The input token count (9) exceeds the maximum number of tokens allowed (4).' } }],
    'maximum number of tokens',
  ),
  ...(
    [
      [
        'xAI',
        'cline/cline #3120',
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
      ],
      [
        'DashScope',
        'anomalyco/opencode #45834',
        '<400> InternalError.Algo: Range of input length should be [1, 30720]',
      ],
      ['Volcano Engine', 'langgenius/dify #32221', 'Input length 203743 exceeds the maximum length 202752'],
      ['Copilot', 'code-yeongyu/oh-my-openagent #2356', 'prompt token count of 141422 exceeds the limit of 128000'],
      ['Anthropic', 'stackblitz/bolt.new #7414', 'input length and `max_tokens` exceed context limit: 9 + 9 > 10'],
    ] as const
  ).map(([name, source, message]) =>
    tooLong(name, source, 400, { error: { message, code: null } }, message.slice(0, 20)),
  ),
];

const waits = (kind: 'Refused' | 'Unauthorised', words: RegExp, analyst?: Outcome): [Outcome, Outcome?] => [
  ['waits', `Model.${kind}`, words],
  analyst,
];

/** Refusals that concern every conversation. */
const OF_ALL: Row[] = [
  [
    'unknown model',
    'OpenAI, error codes',
    sent(404, { error: { message: 'The model `x` does not exist.', code: 'model_not_found' } }),
    ...waits('Refused', /does not serve the model.*`x`/, ['waits', 'Analyst.BadRequest', /`x`/]),
  ],
  [
    'unknown model as a text',
    'open-webui/open-webui #11906',
    sent(404, { error: 'model "x:y" not found, try pulling it first' }),
    ...waits('Refused', /does not serve the model.*try pulling/, ['waits', 'Analyst.BadRequest', /try pulling/]),
  ],
  [
    'unknown model in a list',
    SIBLING,
    sent(404, [{ error: { code: 404, message: 'models/x is not found for API version v1beta' } }]),
    ...waits('Refused', /does not serve the model.*models\/x/),
  ],
  [
    'not a valid model',
    'OpenRouter, errors and debugging',
    sent(400, { error: { message: 'x is not a valid model ID', code: 400 } }),
    ...waits('Refused', /does not serve the model/),
  ],
  [
    'a wrong address',
    'FastAPI, default handlers',
    sent(404, { detail: 'Not Found' }),
    ...waits('Refused', /404: Not Found.*model\.baseUrl/),
  ],
  ['a page', SIBLING, sent(404, '<html>404</html>'), ...waits('Refused', /model\.baseUrl/)],
  [
    'method',
    'RFC 9110, section 15.5.6',
    sent(405, { detail: 'Method Not Allowed' }),
    ...waits('Refused', /405.*model\.baseUrl/),
  ],
  [
    'moved',
    'RFC 9110, section 15.4.2',
    sent(301, '', { location: 'https://elsewhere/v1' }),
    ...waits('Refused', /301.*model\.baseUrl/),
  ],
  [
    'moved for now',
    'RFC 9110, section 15.4.8',
    sent(307, '', { location: '/v2/chat' }),
    ...waits('Refused', /307.*model\.baseUrl/),
  ],
  [
    'no key',
    'OpenAI, error codes',
    sent(401, { error: { message: 'Incorrect API key provided' } }),
    ...waits('Unauthorised', /Incorrect API key/, ['waits', 'Analyst.Unauthorised', /Incorrect API key/]),
  ],
  [
    'no key as a detail',
    SIBLING,
    sent(401, { detail: 'Unauthorized' }),
    ...waits('Unauthorised', /401: Unauthorized/, ['waits', 'Analyst.Unauthorised', /Unauthorized/]),
  ],
  [
    'no key as a text',
    SIBLING,
    sent(401, 'Unauthorized', { 'www-authenticate': 'Bearer' }),
    ...waits('Unauthorised', /401: Unauthorized/),
  ],
  [
    'a key of another project',
    SIBLING,
    sent(403, { error: { message: 'project has no access' } }),
    ...waits('Unauthorised', /no access/, ['waits', 'Analyst.Unauthorised', /no access/]),
  ],
  [
    'a bad key in a list',
    SIBLING,
    sent(400, [{ error: { code: 400, message: 'API key not valid. Please pass a valid API key.' } }]),
    ...waits('Unauthorised', /API key not valid/),
  ],
  [
    'no credit',
    'OpenRouter, errors and debugging',
    sent(402, { error: { message: 'Insufficient Balance', code: 402 } }),
    ...waits('Unauthorised', /credit.*402.*Insufficient Balance/, [
      'waits',
      'Analyst.RateLimited',
      /used up.*Insufficient Balance/,
    ]),
  ],
];

/** Forms of refusals. */
export const REFUSAL_FORMS: Form[] = [
  ...namedForms('refused', REFUSALS),
  ...namedForms('too long', TOO_LONG),
  ...namedForms('all refused', OF_ALL),
];
