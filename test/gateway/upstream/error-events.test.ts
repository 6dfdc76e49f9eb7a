// tier: integration
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { chunkEvent, completion, send } from '../../fakes/replica';
import { GatewayFixture, versionOf } from '../gateway-fixture';

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const failure = (code: unknown, more = {}) => ({
  message: 'the engine has failed',
  type: 'x',
  param: null,
  code,
  ...more,
});
const delta = (said: object, more = {}) =>
  event({ choices: [{ index: 0, delta: said, finish_reason: null, ...more }] });
const ROLE = { role: 'assistant', content: '' };
const openAi = event({ error: failure(500) });
const GOOD = `${chunkEvent('m', 'fine')}data: [DONE]\n\n`;

describe('a model server that says its error with status 200', () => {
  let fixture: GatewayFixture;
  beforeEach(async () => {
    fixture = await new GatewayFixture().start({
      registry: { versions: [versionOf(1, 'weigh')] },
      agent: { traces: { sample: 1 } },
    });
  });
  afterEach(() => fixture.stop());
  const answerWith = (...answers: ((response: ServerResponse) => void)[]) => {
    let asked = 0;
    fixture.replicas[0]!.behaviour = ({ body }, response) => {
      if (body.structured_outputs !== undefined) return false;
      answers[Math.min(asked++, answers.length - 1)]!(response);
      return true;
    };
  };
  const stream = (text: string) => (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
  const metric = async (name: string) =>
    ((await fixture.get('/metrics')).text.match(new RegExp(`^whet_gateway_${name}[{].*`, 'gm')) ?? []).join('\n');
  const traces = async () => {
    await fixture.gateway.traceWriter.flush();
    const day = `traces/desk/${new Date().toISOString().slice(0, 10)}`;
    return (await fixture.store.list(day)).map((name) =>
      readFileSync(fixture.store.localPath(`${day}/${name}`), 'utf8'),
    );
  };

  it.each([
    ['in the format of OpenAI', openAi],
    ['behind comments', `: wait\n\nretry: 5\n\n${openAi}data: [DONE]\n\n`],
    ["in vLLM's older format", event({ object: 'error', ...failure(500) })],
    ['as a text', event({ error: 'the engine has failed', error_type: 'overloaded' })],
    ['by the name of its event', `event: error\n${event({ detail: 'the engine has failed' })}`],
    ['by the name of its event, as text', 'event: error\ndata: the engine has failed\n\n'],
    ['by the name of its field', 'error: {"message": "the engine has failed"}\n\n'],
    ['with a type for all', event({ type: 'error', error: { type: 'overloaded_error', message: 'full' } })],
    ['with a code that is no status', event({ error: failure('internal_error') })],
    ['with a code as text', event({ error: failure('503') })],
    ['without its blank line', openAi.trimEnd()],
    ['in two lines', 'data: {"error":\ndata: {"message": "x"}}\n\n'],
    ['with ends of lines of another kind', `${openAi.trimEnd()}\r\r`],
    ['behind the role of who answers', `${delta(ROLE)}${openAi}data: [DONE]\n\n`],
    ['behind what a filter found in the prompt', `${event({ choices: [], prompt_filter_results: [] })}${openAi}`],
    ['beside an empty choice', event({ choices: [{ index: 0, delta: ROLE }], error: failure(500) })],
    ['as the reason of the end', delta(ROLE, { finish_reason: 'error' })],
    ['as another such reason', delta(ROLE, { finish_reason: 'abort' })],
  ])('is asked again: %s', async (_name, text) => {
    answerWith(stream(text), stream(GOOD));
    const answer = await fixture.chat('need:weigh', { stream: true });
    expect([answer.status, answer.text]).toEqual([200, GOOD]);
    expect(await metric('upstream_retries_total')).toMatch(/reason="(?:status-50[03]|junk)"} 1$/);
  });

  it.each([
    ['the role alone', `${delta(ROLE)}${chunkEvent('m', 'fine')}data: [DONE]\n\n`],
    ['no words, and an end', `${delta(ROLE)}${delta({}, { finish_reason: 'stop' })}data: [DONE]\n\n`],
    ['a field error that is null', `${event({ error: null, choices: [{ index: 0, delta: { content: 'a' } }] })}`],
  ])('is not taken for one that begins with %s', async (_name, text) => {
    answerWith(stream(text));
    expect((await fixture.chat('need:weigh', { stream: true })).text).toBe(text);
    expect(await metric('upstream_retries_total')).toBe('');
  });

  it('is an error when it is the last answer, and no trace', async () => {
    answerWith(stream(openAi));
    const headers = { 'x-whet-conversation': 'c-1' };
    const answer = await fixture.chat('need:weigh', { stream: true }, headers);
    // The adapter was tried three times, then the base model.
    expect([answer.status, answer.json['error']?.code]).toEqual([502, 'upstream_error']);
    await fixture.post('/v1/outcomes', { conversation: 'c-1', reward: 1 });
    expect(await traces()).toEqual([]);
    expect(await metric('requests_total')).toContain('status="502"');
  });

  it.each([
    ['a stream', true, stream(openAi)],
    [
      "a whole answer in vLLM's older format",
      false,
      (r: ServerResponse) => send(r, 200, { object: 'error', ...failure(500) }),
    ],
    ['a whole answer', false, (r: ServerResponse) => send(r, 200, { error: failure('500') })],
    [
      'a whole answer that broke off',
      false,
      (r: ServerResponse) => send(r, 200, { choices: [{ finish_reason: 'error', error: failure(502) }] }),
    ],
  ])('is replaced by the base model: %s', async (_name, streams, fail) => {
    fixture.replicas[0]!.behaviour = ({ body }, response) => {
      if (body.structured_outputs !== undefined || body.model === 'desk-base') return false;
      fail(response);
      return true;
    };
    const answer = await fixture.chat('need:weigh', { stream: streams });
    expect([answer.status, answer.headers.get('x-whet-route')]).toEqual([200, 'adapter-failed']);
    expect(await metric('fallbacks_total')).toContain('reason="adapter-failed"} 1');
  });

  it.each([
    [400, failure(400)],
    [400, failure('context_length_exceeded')],
    [400, failure(null, { type: 'invalid_request_error' })],
    [429, failure('rate_limit_exceeded')],
    [422, failure(null, { status: 422 })],
    [400, failure(null, { type: 'validation_error' })],
  ])('that the request is wrong (%d) is asked once, and its words reach the client', async (status, error) => {
    for (const streams of [true, false]) {
      answerWith(streams ? stream(event({ error })) : (response) => send(response, 200, { error }));
      const answer = await fixture.chat('need:weigh', { stream: streams });
      expect([answer.status, answer.json['error']?.message]).toEqual([status, 'the engine has failed']);
    }
    expect(await metric('upstream_retries_total')).toBe('');
  });

  it('that it has lost a model is asked again once it has the model', async () => {
    answerWith(stream(event({ error: failure('model_not_found') })), stream(GOOD));
    expect((await fixture.chat('need:weigh', { stream: true })).text).toBe(GOOD);
    expect(await metric('upstream_retries_total')).toContain('reason="lost-model"} 1');
  });

  it.each([
    ['with a field error that is null', { ...(completion('m', 'fine') as object), error: null }],
    ['that quotes the word', completion('m', 'say "error"')],
  ])('is not taken for a whole answer %s', async (_name, body) => {
    answerWith((response) => send(response, 200, body));
    expect((await fixture.chat('need:weigh')).json).toEqual(body);
    expect(await metric('upstream_retries_total')).toBe('');
  });

  it.each([
    ['an error event', `${chunkEvent('m', 'half')}${openAi}data: [DONE]\n\n`],
    ['a choice that was aborted', `${chunkEvent('m', 'half')}${delta({}, { finish_reason: 'aborted' })}`],
    ['a choice that broke off', `${chunkEvent('m', 'half')}${delta({}, { finish_reason: 'error' })}data: [DONE]\n\n`],
    ['half an event', `${chunkEvent('m', 'half')}data: {"x`],
  ])('that goes wrong later by %s counts as cut', async (_name, text) => {
    answerWith(stream(text));
    expect((await fixture.chat('need:weigh', { stream: true })).text).toContain('half');
    expect(await metric('streams_cut_total')).toContain('} 1');
  });
});
