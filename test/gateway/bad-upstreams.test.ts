// tier: integration
import type { ServerResponse } from 'node:http';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';
import { chunkEvent, completion, send } from '../fakes/replica';

describe('bad upstreams', () => {
  let fixture: GatewayFixture;
  afterEach(() => fixture.stop());
  const started = async (options: Parameters<GatewayFixture['start']>[0] = {}) => {
    fixture = await new GatewayFixture().start({ registry: { versions: [versionOf(1, 'weigh')] }, ...options });
    return fixture;
  };
  const outcome = (answer: Awaited<ReturnType<GatewayFixture['chat']>>) => [answer.status, answer.json['error']?.code];

  it('down: another model server answers', async () => {
    await started({ replicas: 2 });
    await fixture.replicas[0]!.stop();
    for (let i = 0; i < 10; i++)
      expect((await fixture.chat(`need:weigh ${i}`)).json['model']).toBe(adapterName('weigh', 1));
  });

  it.each([
    ['breaks the connection', (response: ServerResponse) => void response.destroy()],
    ['answers with 500', (response: ServerResponse) => send(response, 500, {})],
    ['answers with something else', (response: ServerResponse) => send(response, 200, { choices: [] })],
  ])('one that %s when the router asks: the router asks another one', async (_name, fail) => {
    await started({ replicas: 2 });
    const [bad, good] = fixture.replicas;
    bad!.behaviour = ({ body }, response) => {
      if (body.structured_outputs === undefined) return false;
      fail(response);
      return true;
    };
    for (let i = 0; i < 10; i++)
      expect((await fixture.chat(`need:weigh ${i}`)).json['model']).toBe(adapterName('weigh', 1));
    expect(bad!.routerCalls().length).toBeGreaterThan(0);
    expect(good!.routerCalls()).toHaveLength(10);
  });

  it('all down: the request waits, and is an error after the wait', async () => {
    await started({ config: { timeouts: { replicaMs: 100 } } });
    await fixture.replicas[0]!.stop();
    expect(outcome(await fixture.chat('hi', { model: 'desk@base' }))).toEqual([503, 'upstream_unavailable']);
    expect((await fixture.get('/readyz')).status).toBe(503);
  });

  it('restarted: a request that waited is answered by the same adapter as before', async () => {
    await started();
    await fixture.chat('need:weigh');
    await fixture.replicas[0]!.stop();
    const waiting = fixture.chat('need:weigh');
    await fixture.until(() => !fixture.agent.replicas.anyReady());
    await fixture.replicas[0]!.start();
    const answer = await waiting;
    expect([answer.json['model'], answer.headers.get('x-whet-route')]).toEqual([
      adapterName('weigh', 1),
      'routed; sticky',
    ]);
  });

  it('slow: a timeout', async () => {
    await started({ config: { timeouts: { firstByteMs: 100 } } });
    fixture.replicas[0]!.behaviour = () => true;
    expect(outcome(await fixture.chat('hi', { model: 'desk@base' }))).toEqual([504, 'upstream_timeout']);
  });

  it('breaking off before the end of an answer that is not streamed: tried again', async () => {
    await started();
    let times = 0;
    fixture.replicas[0]!.behaviour = (_, response) => {
      if (++times > 1) return false;
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 }).write('{"choices": [');
      setTimeout(() => response.destroy(), 10);
      return true;
    };
    expect((await fixture.chat('hi', { model: 'desk@base' })).json).toEqual(completion('desk-base', 'hello'));
  });

  it('cutting a stream: whole events, then an error event, and the end', async () => {
    await started();
    fixture.replicas[0]!.behaviour = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`${chunkEvent('m', 'a')}data: {"half`);
      setTimeout(() => response.destroy(), 20);
      return true;
    };
    const { text } = await fixture.chat('hi', { model: 'desk@base', stream: true });
    const events = text.split('\n\n').filter(Boolean);
    expect(events[0]).toBe(chunkEvent('m', 'a').trim());
    expect(JSON.parse(events[1]!.slice(6))).toEqual({
      error: {
        message: 'The model server broke off its answer.',
        type: 'server_error',
        param: null,
        code: 'upstream_error',
      },
    });
    expect(events).toHaveLength(2);
  });

  it('cutting a stream before its first event: tried again', async () => {
    await started();
    let times = 0;
    fixture.replicas[0]!.behaviour = (_, response) => {
      if (++times > 1) return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"ha');
      setTimeout(() => response.destroy(), 10);
      return true;
    };
    expect((await fixture.chat('hi', { model: 'desk@base', stream: true })).text).toContain('[DONE]');
  });

  it.each([
    ['junk', (send200: (text: string) => void) => send200('<html>oops</html>'), 'upstream_junk'],
    ['half a document', (send200: (text: string) => void) => send200('{"choices": ['), 'upstream_junk'],
  ])('answering %s: an error, without what it said', async (_name, behave, code) => {
    await started();
    fixture.replicas[0]!.behaviour = (_request, response) => (behave((text) => send(response, 200, text)), true);
    const answer = await fixture.chat('hi', { model: 'desk@base' });
    expect(outcome(answer)).toEqual([502, code]);
    expect(answer.text).not.toContain('oops');
  });

  it('failing with a stack: an error without the stack', async () => {
    await started();
    fixture.replicas[0]!.behaviour = (_, response) => (
      send(response, 500, { error: { message: 'Traceback (most recent call last): File "/srv/x.py"' } }),
      true
    );
    const answer = await fixture.chat('hi', { model: 'desk@base' });
    expect(answer.json['error']).toEqual({
      message: 'The model server failed with status 500.',
      type: 'server_error',
      param: null,
      code: 'upstream_error',
    });
  });

  it('an adapter that fails falls back to base, says so and counts it', async () => {
    await started();
    fixture.replicas[0]!.behaviour = ({ body }, response) =>
      body.model !== 'desk-base' && (send(response, 500, {}), true);
    const answer = await fixture.chat('need:weigh');
    expect([answer.json['model'], answer.headers.get('x-whet-adapter'), answer.headers.get('x-whet-route')]).toEqual([
      'desk-base',
      'base',
      'adapter-failed',
    ]);
    expect((await fixture.get('/metrics')).text).toContain(
      'whet_gateway_fallbacks_total{agent="desk",reason="adapter-failed"} 1',
    );
  });

  it('or is an error, where the agent is configured so or the adapter was pinned', async () => {
    await started({ agent: { fallback: 'error' } });
    fixture.replicas[0]!.behaviour = ({ body }, response) =>
      body.model !== 'desk-base' && (send(response, 500, {}), true);
    expect(outcome(await fixture.chat('need:weigh'))).toEqual([502, 'upstream_error']);
    expect(outcome(await fixture.chat('hi', { model: adapterName('weigh', 1) }))).toEqual([502, 'upstream_error']);
  });

  it('an adapter that was lost behind our back is loaded again before it is used again', async () => {
    await started();
    fixture.replicas[0]!.adapters.clear();
    expect((await fixture.chat('need:weigh')).json['model']).toBe(adapterName('weigh', 1));
    const { history } = fixture.replicas[0]!;
    // A check that the loss overtook is done again, and so is its probe.
    expect(history.filter((entry, index) => entry !== history[index - 1])).toEqual(
      [1, 2].flatMap(() => [`load ${adapterName('weigh', 1)}`, `probe ${adapterName('weigh', 1)}`]),
    );
  });
});

test('a drain lets requests under way end and takes no new ones', async () => {
  const fixture = await new GatewayFixture().start();
  const asked = Promise.withResolvers<ServerResponse>();
  fixture.replicas[0]!.behaviour = (_, response) => (asked.resolve(response), true);
  const slow = fixture.chat('hi');
  const response = await asked.promise;
  const drained = fixture.server.drain(60_000);
  await expect(fixture.chat('no more')).rejects.toThrow();
  send(response, 200, { late: true });
  expect((await slow).json).toEqual({ late: true });
  expect(await drained).toBe(0);
  await fixture.stop();
});
