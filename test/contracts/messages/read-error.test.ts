// tier: unit
import { errorInAnswer, isBrokenOff, isHeldBack, statusOfError } from '../../../contracts/messages/read-error';

test.each<[number, object]>([
  [500, {}],
  [500, { message: 'Provider returned error' }],
  [500, { message: 'x', code: 'odd', type: 'odd', status: 200 }],
  [500, { code: 50001 }],
  [502, { code: '502' }],
  [422, { status: 422, type: 'rate_limit' }],
  [404, { code: 'model_not_found', type: 'invalid_request_error' }],
  [429, { type: 'rate_limit_error' }],
  [429, { code: 'insufficient_quota' }],
  [429, { type: 'rate_limit_error', message: 'too many tokens per minute' }],
  [401, { code: 'invalid_api_key', type: 'invalid_request_error' }],
  [503, { type: 'overloaded_error' }],
  [503, { code: 'internal_error' }],
  [400, { type: 'invalid_request_error' }],
  [400, { code: 'context_length_exceeded' }],
  [400, { type: 'validation' }],
  [400, { code: 40302 }],
  [400, { code: 'content_filter' }],
  [400, { message: "This model's maximum context length is 4096 tokens." }],
])('an error with status 200 stands for %d: %j', (status, error) => {
  expect(statusOfError(error)).toBe(status);
  expect(errorInAnswer({ error: { message: 'x', ...error } })).toMatchObject({ status });
});

test('an error that is a text is read by its kind', () => {
  expect(errorInAnswer({ error: 'top_p', error_type: 'validation' })).toMatchObject({ status: 400, message: 'top_p' });
});

test.each([
  [400, 'prompt is too long for the internal limit'],
  [401, 'Invalid API key provided'],
  [403, 'Forbidden'],
  [429, 'Rate limit exceeded'],
  [500, 'it broke'],
  [500, 'CUDA error: invalid argument'],
  [500, 'arguments of check_permission are invalid'],
  [500, 'arguments of list_unavailable_items are invalid'],
  [503, 'Timeout'],
  [503, 'the server is overloaded'],
])('an error that is a text stands for %d: %s', (status, error) => {
  expect(errorInAnswer({ error })).toMatchObject({ status, message: error });
});

test.each([
  ...[
    'error',
    'network_error',
    'server_error',
    'abort',
    'aborted',
    'cancelled',
    'canceled',
    'ABORT',
    'network-error',
  ].map((reason) => [reason, 'broken off', 500] as const),
  ['insufficient_system_resource', 'broken off', 500] as const,
  ...[
    'content_filter',
    'content-filter',
    'safety',
    'SAFETY',
    'recitation',
    'blocklist',
    'sensitive',
    'guardrail_intervened',
  ].map((reason) => [reason, 'held back', 400] as const),
  ...['stop', 'length', 'tool_calls', '', null, undefined, 5].map((reason) => [reason, 'whole', null] as const),
])('an answer that ends with %s is %s', (reason, what, status) => {
  expect([isBrokenOff(reason), isHeldBack(reason)]).toEqual([what === 'broken off', what === 'held back']);
  const error = errorInAnswer({ choices: [{ message: { content: 'x' }, finish_reason: reason }] });
  expect(error?.status ?? null).toBe(status);
});
