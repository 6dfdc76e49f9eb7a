// tier: integration
import { readFileSync } from 'node:fs';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { FORMS } from '../fakes/hostile-forms';
import { STREAM_FORMS } from '../fakes/hostile-forms/streams';
import { chance, sendReply } from '../fakes/hostile-model-server';
import { GatewayFixture } from './gateway-fixture';

const MODEL = 'desk@base';
const PLAIN = { content: 'hello', calls: [] };

describe('a model server that answers in odd but legal forms', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ config: { retries: 1 }, agent: { traces: { sample: 1, redact: [] } } }));
  afterAll(() => fixture.stop());
  afterEach(() => void (fixture.replicas[0]!.behaviour = null));

  const day = () => `traces/desk/${new Date().toISOString().slice(0, 10)}`;
  const written = async (): Promise<Trajectory[]> => {
    await fixture.gateway.traceWriter.flush();
    return (await fixture.store.list(day())).flatMap((name) =>
      readFileSync(fixture.store.localPath(`${day()}/${name}`), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => trajectorySchema.parse(JSON.parse(line))),
    );
  };
  let conversations = 0;
  /** The trace of a conversation that was asked this; null: none was written, or it says that something is missing. */
  const traceOf = async (content: string): Promise<Trajectory | null> => {
    const found = (await written()).find(({ messages }) => messages[0]!.content === content);
    return found === undefined || 'leftOut' in found ? null : found;
  };
  const ask = async (more: object = {}) => {
    const content = `conversation-${conversations++}`;
    const headers = { 'x-whet-conversation': content };
    const answer = await fixture.chat(content, { model: MODEL, ...more }, headers);
    await fixture.post('/v1/outcomes', { conversation: content, reward: 1 });
    return { answer, content };
  };

  test.each(STREAM_FORMS)('streamed: $name ($source)', async ({ bytes, says }) => {
    fixture.replicas[0]!.behaviour = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytes);
      return true;
    };
    const { answer, content } = await ask({ stream: true });
    expect([answer.status, answer.text.trimEnd()]).toEqual([200, bytes.trimEnd()]);
    const trace = await traceOf(content);
    if (says === null) return expect(trace).toBeNull();
    const last = trace!.messages.at(-1)!;
    expect(last.content).toBe(says.content);
    expect(last.tool_calls?.map(({ function: call }) => [call.name, call.arguments])).toEqual(says.calls);
    expect(last.reasoning_content).toBe(says.reasoning);
  });

  test.each([1, 2])('a seeded mix, seed %i: no trace says what nobody said', async (seed) => {
    const whole = FORMS.map((form) => ({ ...form, isStream: false as const }));
    const streamed = STREAM_FORMS.map((form) => ({ ...form, isStream: true as const }));
    const plain = {
      name: 'plain',
      isStream: true as const,
      bytes: STREAM_FORMS[0]!.bytes,
      says: STREAM_FORMS[0]!.says,
    };
    for (let i = 0; i < 60; i++) {
      const pool = chance(seed, `kind ${i}`) < 0.5 ? streamed : whole;
      const isOdd = chance(seed, `whether ${i}`) < 0.3;
      const form = isOdd ? pool[Math.floor(chance(seed, `which ${i}`) * pool.length)]! : plain;
      let sent = 0;
      fixture.replicas[0]!.behaviour = (_, response) => {
        if (form.isStream) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(form.bytes);
        else if (form.rollout === 'sent again' && sent++ > 0) return false;
        else sendReply(response, form.reply(PLAIN));
        return true;
      };
      const { answer, content } = await ask({ stream: form.isStream });
      const trace = await traceOf(content);
      const said = trace?.messages.at(-1)?.content ?? '';
      if (answer.status !== 200) {
        expect([form.name, trace, typeof answer.json['error']?.message]).toEqual([form.name, null, 'string']);
      } else if (form.isStream) {
        expect([form.name, trace === null ? null : said]).toEqual([form.name, form.says && (form.says.content ?? '')]);
      } else {
        const { rollout = 'played' } = form;
        const told = typeof rollout === 'string' ? /^(?:hello)?$/ : rollout[0] === 'said' ? rollout[1] : /^(?:hello)?$/;
        expect([form.name, told.test(said) || said]).toEqual([form.name, true]);
      }
    }
  });
});
