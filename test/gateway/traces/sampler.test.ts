// tier: integration
import { readFileSync } from 'node:fs';
import { SEVERAL_MODELS, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { send } from '../../fakes/replica';
import { adapterName, GatewayFixture, versionOf } from '../gateway-fixture';

const TOOL_CALL = { id: 'call_1', type: 'function', function: { name: 'weigh', arguments: '{"parcel":"P1"}' } };

describe('traces', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({
      registry: { versions: [versionOf(1, 'weigh')] },
      agent: { traces: { sample: 1, redact: ['email'], redactPatterns: ['P\\d+'] } },
    }),
  );
  afterAll(() => fixture.stop());
  const day = () => `traces/desk/${new Date().toISOString().slice(0, 10)}`;
  const written = async () => {
    await fixture.gateway.traceWriter.flush();
    const names = await fixture.store.list(day());
    return names.flatMap((name) =>
      readFileSync(fixture.store.localPath(`${day()}/${name}`), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => trajectorySchema.parse(JSON.parse(line))),
    );
  };

  it('a conversation is written in the trajectory format once its outcome is known, redacted', async () => {
    fixture.replicas[0]!.behaviour = ({ body }, response) => {
      if (body.structured_outputs !== undefined) return false;
      send(response, 200, {
        choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: [TOOL_CALL] } }],
        usage: { prompt_tokens: 7, completion_tokens: 3 },
      });
      return true;
    };
    const headers = { 'x-whet-conversation': 'c-1' };
    await fixture.chat('need:weigh P77, says ann@example.org', {}, headers);
    expect(await written()).toEqual([]);
    await fixture.post('/v1/outcomes', { conversation: 'c-1', reward: 1 });
    expect(await written()).toEqual([
      expect.objectContaining({
        task: { seed: expect.any(Number), split: 'live' },
        model: adapterName('weigh', 1),
        answeredBy: [{ model: adapterName('weigh', 1), version: 1 }],
        messages: [
          { role: 'user', content: 'need:weigh [redacted], says [email]' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ ...TOOL_CALL, function: { name: 'weigh', arguments: '{"parcel":"[redacted]"}' } }],
          },
        ],
        reward: 1,
        success: true,
        steps: 1,
        usage: { promptTokens: 7, completionTokens: 3, cachedTokens: 0 },
      }),
    ]);
    fixture.replicas[0]!.behaviour = null;
  });

  it('a streamed answer is put together, and a second outcome writes nothing more', async () => {
    const headers = { 'x-whet-conversation': 'c-2' };
    await fixture.chat('need:weigh once', { stream: true }, headers);
    await fixture.post('/v1/outcomes', { conversation: 'c-2', reward: 0 });
    await fixture.post('/v1/outcomes', { conversation: 'c-2', reward: 1 });
    const found = (await written()).filter(({ reward }) => reward === 0);
    expect(found.map(({ messages, success }) => [messages.at(-1), success])).toEqual([
      [{ role: 'assistant', content: 'hello' }, false],
    ]);
    expect(await written()).toHaveLength(2);
  });

  it('a conversation is that of the base model only when it answered every turn', async () => {
    const say = (content: string, model: string, id: string) =>
      fixture.post(
        '/v1/chat/completions',
        { model, messages: [{ role: 'user', content }] },
        { 'x-whet-conversation': id },
      );
    await say('one', adapterName('weigh', 1), 'c-mixed');
    await say('two', 'desk@base', 'c-mixed');
    await fixture.post('/v1/outcomes', { conversation: 'c-mixed', reward: 0.25 });
    await say('three', 'desk@base', 'c-mixed');
    await fixture.post('/v1/outcomes', { conversation: 'c-mixed', reward: 0.25 });
    await say('one', 'desk@base', 'c-base');
    await say('two', 'desk@base', 'c-base');
    await fixture.post('/v1/outcomes', { conversation: 'c-base', reward: 0.75 });
    const models = async (wanted: number) =>
      (await written()).filter(({ reward }) => reward === wanted).map(({ model }) => model);
    expect(await models(0.25)).toEqual([SEVERAL_MODELS, SEVERAL_MODELS]);
    expect(await models(0.75)).toEqual([expect.stringMatching(/^[^@]+$/)]);
    const { baseModel } = fixture.gateway.agents.get('desk')!.settings;
    expect((await written()).filter(({ reward }) => reward === 0.25).map(({ answeredBy }) => answeredBy)).toEqual(
      Array(2).fill([
        { model: adapterName('weigh', 1), version: 1 },
        { model: baseModel, version: null },
      ]),
    );
  });

  it('a base model that stands in for a router that failed is told from one that was chosen', async () => {
    const ask = async (id: string, content: string, reward: number) => {
      await fixture.chat(content, {}, { 'x-whet-conversation': id });
      await fixture.post('/v1/outcomes', { conversation: id, reward });
      return (await written()).find((one) => one.reward === reward)!.answeredBy;
    };
    const { baseModel: model } = fixture.gateway.agents.get('desk')!.settings;
    expect(await ask('c-chosen', 'nothing special', 0.12)).toEqual([{ model, version: 1 }]);
    fixture.replicas[0]!.behaviour = ({ body }, response) => {
      if (body.structured_outputs === undefined) return false;
      send(response, 500, { error: 'no router' });
      return true;
    };
    expect(await ask('c-failed', 'need:weigh P93', 0.16)).toEqual([{ model, version: 1, standsIn: true }]);
    fixture.replicas[0]!.behaviour = null;
  });

  it('an answer whose counts are no whole numbers is counted and not written: no run could read it', async () => {
    fixture.replicas[0]!.behaviour = ({ body }, response) => {
      if (body.structured_outputs !== undefined) return false;
      send(response, 200, {
        choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
        usage: { prompt_tokens: 7.5, completion_tokens: 'three' },
      });
      return true;
    };
    const before = (await written()).length;
    await fixture.chat('need:weigh P78', {}, { 'x-whet-conversation': 'c-counts' });
    await fixture.post('/v1/outcomes', { conversation: 'c-counts', reward: 1 });
    fixture.replicas[0]!.behaviour = null;
    expect(await written()).toHaveLength(before);
    expect((await fixture.get('/metrics')).text).toContain(
      'whet_gateway_traces_total{agent="desk",result="unreadable"} 1',
    );
  });

  it('what the format has no place for is counted and left out', async () => {
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }];
    await fixture.post(
      '/v1/chat/completions',
      { model: 'desk', messages: [{ role: 'robot', content: 'x' }, ...messages] },
      { 'x-whet-conversation': 'c-3' },
    );
    await fixture.post('/v1/outcomes', { conversation: 'c-3', reward: 1 });
    expect((await fixture.get('/metrics')).text).toContain(
      'whet_gateway_traces_total{agent="desk",result="unreadable"} 2',
    );
  });
});
