// Tier: unit.
import { FAILURES } from '../../../contracts/failures/run';
import { faultOfAnswer, faultOfException, modelFailure } from '../../../activities/rollout/model-errors';

const url = 'http://127.0.0.1:9/v1/chat/completions';
const fault = (status: number, body: unknown = {}, retryAfter?: string) =>
  faultOfAnswer({ status, body: JSON.stringify(body), retryAfter }, url);

describe('errors of the model endpoint', () => {
  test.each([408, 409, 423, 424, 425, 429, 498, 500, 502, 503, 529])(
    '%i is Model.Unreachable and retried',
    (status) => {
      expect(fault(status).kind).toBe([424, 500].includes(status) ? 'failed' : 'unreachable');
      expect(modelFailure(fault(status))).toMatchObject({ type: 'Model.Unreachable', nonRetryable: false });
    },
  );

  test.each([401, 403])('%i is Model.Unauthorised, which waits for a person', (status) => {
    expect(modelFailure(fault(status))).toMatchObject({ type: 'Model.Unauthorised', nonRetryable: true });
    expect(FAILURES['Model.Unauthorised'].curedBy).toBe('operator');
  });

  test.each([400, 422])('%i is Model.Refused and not retried', (status) => {
    expect(modelFailure(fault(status, { error: { message: 'no' } }))).toMatchObject({
      type: 'Model.Refused',
      nonRetryable: true,
    });
  });

  test.each([
    [400, "This model's maximum context length is 2048 tokens.", 'too-long'],
    [400, "The input (9 tokens) is longer than the model's context length (4 tokens).", 'too-long'],
    [400, 'the request exceeds the available context size', 'too-long'],
    [413, 'Payload Too Large', 'conversation'],
    [400, 'Unterminated string starting at: line 1 column 9', 'conversation'],
    [400, 'The prompt mentions an API key and a model.', 'conversation'],
    [422, 'tool_calls.0.function.arguments: not valid', 'conversation'],
    [400, 'Invalid model name passed in model=x', 'unknown-model'],
    [400, 'The model `x` does not exist.', 'unknown-model'],
    [400, 'API key not valid. Please pass a valid API key.', 'unauthorised'],
    [400, 'Incorrect API key provided', 'unauthorised'],
    [405, 'Method Not Allowed', 'refused'],
    [301, 'moved', 'refused'],
  ])('%i with "%s" is %s', (status, message, kind) => {
    expect(fault(status, { error: { message } }).kind).toBe(kind);
  });

  test('429 passes on how long the server wants to be left alone', () => {
    expect(modelFailure(fault(429, {}, '3'))).toMatchObject({ nextRetryDelay: 3000 });
  });

  test("404 in OpenAI's error format means that the model is not served", () => {
    expect(fault(404, { error: { message: 'The model `x` does not exist.', code: 'model_not_found' } }).kind).toBe(
      'unknown-model',
    );
    expect(fault(404, { object: 'error', message: 'The model `x` does not exist.', code: 404 }).kind).toBe(
      'unknown-model',
    );
  });

  test('any other 404 means that the address is wrong, and says where it should point', () => {
    expect(fault(404, { detail: 'Not Found' })).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('/v1') as string,
    });
  });

  test('a bad key says which variable holds it', () => {
    expect(fault(401).message).toContain('WHET_MODEL_API_KEY');
  });

  test("the server's own words are kept", () => {
    expect(fault(400, { error: { message: 'prompt is too long' } }).message).toContain('prompt is too long');
  });

  test.each([
    ['ECONNREFUSED', 'unreachable', 'is down: the connection was refused (ECONNREFUSED)'],
    ['ENOTFOUND', 'unreachable', 'is not there: its name has no address (ENOTFOUND)'],
    ['EAI_AGAIN', 'unreachable', 'its name could not be looked up'],
    ['UND_ERR_CONNECT_TIMEOUT', 'unreachable', 'no connection came about'],
    ['EHOSTUNREACH', 'unreachable', 'no way leads to its address'],
    ['ECONNRESET', 'unreachable', 'did not answer (ECONNRESET)'],
    ['UND_ERR_SOCKET', 'unreachable', 'did not answer (UND_ERR_SOCKET)'],
    ['UND_ERR_HEADERS_TIMEOUT', 'slow', 'did not answer for 90 s.'],
    ['UND_ERR_BODY_TIMEOUT', 'slow', 'began to answer, and then sent nothing for 90 s.'],
  ])('%s while an answer is waited for is %s, with the reason', (code, kind, words) => {
    const fault = faultOfException(Object.assign(new Error('x'), { code }), url, 90_000);
    expect(fault).toMatchObject({ kind, message: expect.stringContaining(words) as string });
    const question = faultOfException(Object.assign(new Error('x'), { code }), url);
    expect(question.kind).toBe('unreachable');
  });

  test('Model.Slow waits for a person, who is told the field', () => {
    const slow = faultOfException(Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' }), url, 1_000);
    expect(modelFailure(slow)).toMatchObject({ type: 'Model.Slow', nonRetryable: true });
    expect(FAILURES['Model.Slow'].remedy).toContain('model.timeoutSeconds');
  });

  test.each([408, 504, 524])('%i names the proxy that gave up waiting', (status) => {
    expect(fault(status).message).toContain('A proxy in front of it gave up waiting');
  });
});
