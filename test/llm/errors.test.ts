// tier: unit
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import { refusesPromptOnly, toAnalystFailure, type AnalystFailureDetail } from '../../llm/errors';

const place = { endpoint: 'https://analyst.example/v1', model: 'm-1' };
const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

function answered(
  status: number,
  headers: Record<string, string> = {},
  body: Record<string, unknown> = { message: 'what the server said' },
) {
  return toAnalystFailure(APIError.generate(status, { error: body }, undefined, new Headers(headers)), place, NOW);
}

describe('an HTTP status of the analyst becomes a failure of the catalogue', () => {
  test.each([
    [400, 'Analyst.BadRequest', false],
    [401, 'Analyst.Unauthorised', false],
    [403, 'Analyst.Unauthorised', false],
    [404, 'Analyst.BadRequest', false],
    [408, 'Analyst.Unavailable', true],
    [409, 'Analyst.Unavailable', true],
    [413, 'Analyst.BadRequest', false],
    [422, 'Analyst.BadRequest', false],
    [429, 'Analyst.RateLimited', true],
    [500, 'Analyst.Unavailable', true],
    [502, 'Analyst.Unavailable', true],
    [503, 'Analyst.Unavailable', true],
    [504, 'Analyst.Unavailable', true],
    [529, 'Analyst.Unavailable', true],
  ])('%i becomes %s', (status, type, retryable) => {
    const failure = answered(status);
    expect(failure.type).toBe(type);
    expect(failure.nonRetryable).toBe(!retryable);
    expect(failure.message).toContain(place.endpoint);
    expect(failure.message).toContain('what the server said');
    expect((failure.details?.[0] as AnalystFailureDetail).status).toBe(status);
    expect(failure.cause).toBeInstanceOf(APIError);
  });

  test('401 says which variable to set', () => {
    expect(answered(401).message).toContain('OPENAI_API_KEY');
  });

  test('a long server message is quoted in part and on one line', () => {
    const { message } = answered(400, {}, { message: 'long\n'.repeat(500) });
    expect(message.length).toBeLessThan(700);
    expect(message).not.toContain('\n');
  });
});

describe('no answer at all is Analyst.Unavailable', () => {
  test('a connection that cannot be made', () => {
    const failure = toAnalystFailure(
      new APIConnectionError({ message: 'Connection error.', cause: new Error('ECONNREFUSED') }),
      place,
    );
    expect([failure.type, failure.nonRetryable]).toEqual(['Analyst.Unavailable', false]);
    expect(failure.message).toContain('could not be reached');
  });

  test('a timeout', () => {
    const failure = toAnalystFailure(new APIConnectionTimeoutError(), place);
    expect([failure.type, failure.nonRetryable]).toEqual(['Analyst.Unavailable', false]);
    expect(failure.message).toContain('did not answer in time: raise analyst.timeoutSeconds');
    const known = toAnalystFailure(new APIConnectionTimeoutError(), { ...place, timeoutMs: 600_000 });
    expect(known.message).toContain('did not answer within 600 s');
  });
});

describe('the wait that the server asks for becomes nextRetryDelay', () => {
  test('retry-after-ms is preferred to retry-after', () => {
    expect(answered(429, { 'retry-after-ms': '1500', 'retry-after': '9' }).nextRetryDelay).toBe(1500);
  });

  test('retry-after in seconds', () => {
    expect(answered(429, { 'retry-after': '7' }).nextRetryDelay).toBe(7000);
    expect(answered(503, { 'retry-after': '7' }).nextRetryDelay).toBe(7000);
  });

  test('retry-after as an HTTP date', () => {
    expect(answered(429, { 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }).nextRetryDelay).toBe(30_000);
  });

  test('a date that has passed means no wait', () => {
    expect(answered(429, { 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }).nextRetryDelay).toBe(0);
  });

  test('no header, or one that cannot be read, leaves the delay to the retry policy', () => {
    expect(answered(429).nextRetryDelay).toBeUndefined();
    expect(answered(429, { 'retry-after': 'soon' }).nextRetryDelay).toBeUndefined();
  });

  test('a used-up quota is looked at again after minutes, not seconds', () => {
    const failure = answered(429, {}, { message: 'no credit', code: 'insufficient_quota' });
    expect(failure.type).toBe('Analyst.RateLimited');
    expect(failure.nextRetryDelay).toBeGreaterThanOrEqual(60_000);
    expect(failure.message).toContain('quota');
  });
});

describe('a prompt that is refused for what is in it', () => {
  test.each(['context_length_exceeded', 'content_filter'])('%s concerns this prompt only', (code) => {
    expect(refusesPromptOnly(answered(400, {}, { message: 'no', code }))).toBe(true);
  });

  test.each([
    [400, 'The request body is not valid JSON: no low surrogate in string: line 1 column 1204 (char 1203)'],
    [400, 'We could not parse the JSON body of your request.'],
    [400, "'utf-8' codec can't encode character '\\ud83d' in position 3: surrogates not allowed"],
    [400, 'str is not valid UTF-8: surrogates not allowed'],
    [400, 'lone leading surrogate in hex escape at line 1 column 88'],
    [400, 'unexpected end of hex escape'],
    [400, 'invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF'],
    [400, 'invalid string: ill-formed UTF-8 byte'],
    [400, 'Invalid Unicode in messages.1.content'],
    [400, 'unsupported Unicode escape sequence'],
    [400, 'invalid character in string escape code'],
    [400, 'Malformed UTF-8 characters, possibly incorrectly encoded'],
    [422, 'Input should be a valid string, unable to parse raw data as a unicode string: invalid unicode code point'],
  ])('%i with %j concerns this prompt only', (status, message) => {
    expect(refusesPromptOnly(answered(status, {}, { message }))).toBe(true);
  });

  test.each([
    [400, 'response_format: this model does not support a JSON schema'],
    [400, "Invalid value for 'model': m-1"],
    [400, 'Invalid schema for response_format: in context=(), additionalProperties is required to be false'],
    [404, 'Invalid Unicode in the address'],
    [401, 'The key holds an invalid Unicode character'],
  ])('%i with %j concerns all prompts', (status, message) => {
    expect(refusesPromptOnly(answered(status, {}, { message }))).toBe(false);
  });

  test('413 concerns this prompt only', () => {
    expect(refusesPromptOnly(answered(413))).toBe(true);
  });

  test('an unknown model concerns all prompts', () => {
    expect(refusesPromptOnly(answered(404, {}, { message: 'no such model', code: 'model_not_found' }))).toBe(false);
    expect(refusesPromptOnly(answered(429))).toBe(false);
  });
});
