/** Failures in place of a completion: with status 200, and those that pass. */
import { alone, type Form, namedForms, type Row, sent, SIBLING } from '../hostile-model-server';

const WITH_200: Row[] = [
  [
    'an error',
    'langgenius/dify #9197',
    sent(200, { error: { message: 'Provider returned error', code: 400 } }),
    alone(/Provider returned error/),
    ['waits', 'Analyst.BadRequest', /Provider returned error/],
  ],
  [
    'and null fields',
    'pydantic/pydantic-ai #4528',
    sent(200, { id: null, choices: null, error: { message: 'no endpoints', code: 400 }, user_id: 'u' }),
    alone(/no endpoints/),
    ['waits', 'Analyst.BadRequest', /no endpoints/],
  ],
  [
    'a text',
    'huggingface/text-generation-inference #2749',
    sent(200, { error: 'Input validation error: top_p', error_type: 'validation' }),
    alone(/Input validation error: top_p/),
    ['waits', 'Analyst.BadRequest', /Input validation error: top_p/],
  ],
  [
    'of a content filter',
    'OpenRouter, errors and debugging',
    sent(200, { error: { message: 'Your input was flagged', code: 403 } }),
    alone(/was flagged/),
    alone(/was flagged/),
  ],
  [
    'of the old form',
    'lm-sys/FastChat, error codes',
    sent(200, { object: 'error', message: 'too hot', code: 40302 }),
    alone(/too hot/),
    ['waits', 'Analyst.BadRequest', /too hot/],
  ],
  [
    '429',
    'open-webui/computer #293',
    sent(200, { error: { message: 'rate-limited upstream', code: 429 } }),
    'sent again',
    'sent again',
  ],
  ['502 as a text', SIBLING, sent(200, { error: { message: 'bad gateway', code: '502' } }), 'sent again', 'sent again'],
  [
    'overloaded, without a code',
    'anthropics/claude-code #3558',
    sent(200, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    'sent again',
    'sent again',
  ],
  ['a page', 'UKGovernmentBEIS/inspect_ai #3687', sent(200, '<html>One moment</html>'), 'sent again', 'sent again'],
  ['nothing', SIBLING, sent(200, ''), 'sent again', 'sent again'],
  ['status 204', SIBLING, sent(204), 'sent again', 'sent again'],
  ['null', 'oumi-ai/oumi #2593', sent(200, 'null', { 'content-type': 'application/json' }), 'sent again', 'sent again'],
  [
    'half a document',
    SIBLING,
    sent(200, '{"choices": [', { 'content-type': 'application/json' }),
    'sent again',
    'sent again',
  ],
  [
    'a stream that nobody asked for',
    SIBLING,
    sent(200, 'data: {"choices":[]}\n\ndata: [DONE]\n\n', { 'content-type': 'text/event-stream' }),
    ['waits', 'Model.Unreachable', /data: .*model\.baseUrl/],
    ['waits', 'Analyst.Unavailable', /data: /],
  ],
];

const HTML = '<html><head><title>Bad gateway</title></head><body>cloudflare</body></html>';

/** Failures that pass: the next try is fine. */
const PASSING: Row[] = (
  [
    ['408', 'OpenRouter, errors and debugging', sent(408, { error: { message: 'timed out' } })],
    ['409', 'openai/openai-node, retries', sent(409, { error: { message: 'lock' } })],
    ['423', SIBLING, sent(423, {})],
    [
      '424',
      'huggingface/text-generation-inference #2994',
      sent(424, { error: 'Request failed during generation: Server error', error_type: 'generation' }),
    ],
    ['425', 'RFC 8470', sent(425, {})],
    ['429', 'OpenAI, error codes', sent(429, { error: { message: 'slow down' } }, { 'retry-after': '0' })],
    ['429 with decimals', 'SpaceTradersAPI/api-docs #24', sent(429, {}, { 'retry-after': '0.01' })],
    [
      '429 with a date',
      'duolahypercho/codex-router #573',
      sent(429, {}, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
    ],
    ['429 with milliseconds', 'openai/openai-node, retries', sent(429, {}, { 'retry-after-ms': '1' })],
    ['429 with a negative number', 'denoland/std #7299', sent(429, {}, { 'retry-after': '-1' })],
    ['429 with words', 'x402-foundation/x402 #2614', sent(429, {}, { 'retry-after': 'soon' })],
    ['498', 'Groq, API error codes', sent(498, { error: { message: 'flex capacity exceeded' } })],
    ['500', 'sgl-project/sglang #5984', sent(500, 'Internal Server Error')],
    ['502 with a page', SIBLING, sent(502, HTML)],
    [
      '503',
      'google-gemini/gemini-cli #7227',
      sent(503, [{ error: { code: 503, message: 'The model is overloaded.' } }]),
    ],
    ['504', SIBLING, sent(504, HTML)],
    ['520', 'blockfrost/blockfrost-js #278', sent(520, HTML)],
    ['522', 'cloudflare/cloudflare-docs #22589', sent(522, HTML)],
    [
      '529',
      'vava-nessa/free-coding-models #148',
      sent(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    ],
    [
      'cut in the middle',
      'RFC 9112, section 8',
      () => ({ body: { choices: ['x'.repeat(1000)] }, how: 'cut' as const, headers: { 'content-length': '2000' } }),
    ],
    ['cut in pieces', 'RFC 9112, section 8', () => ({ body: { choices: ['x'.repeat(1000)] }, how: 'cut' as const })],
    ['closed at once', 'RFC 9112, section 9.5', () => ({ how: 'silent' as const })],
  ] satisfies Row[]
).map((row) => [...row, 'sent again', 'sent again']);

/** Forms of failures. */
export const FAILURE_FORMS: Form[] = [...namedForms('200', WITH_200), ...namedForms('passing', PASSING)];
