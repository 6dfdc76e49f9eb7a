// Tier: integration (real environment runtime, fake model server).
import { collectTrajectories } from '../../../activities/collect';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { getLines } from '../../../store';
import { FakePolicyServer, parcelPolicy, type WireRequest } from '../../fakes/policy-server';
import { RunFixture } from '../run-fixture';

const completion = (message: object) => ({
  choices: [{ message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
});
const weighing = (given: unknown) => completion({ tool_calls: [{ function: { name: 'weigh', arguments: given } }] });
const parcelOf = ({ messages }: WireRequest) => /P\d+/.exec(messages.find(({ role }) => role === 'user')!.content!)![0];

/** As a server that parses the history: 400 for a call of it whose arguments are no JSON object. */
const strict = ({ messages }: WireRequest): { status: number; body: unknown } | null => {
  const calls = (messages as { tool_calls?: { function: { arguments: string } }[] }[]).flatMap(
    ({ tool_calls = [] }) => tool_calls,
  );
  for (const { function: called } of calls) {
    try {
      const value = JSON.parse(called.arguments) as unknown;
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) continue;
    } catch {
      // Refused below.
    }
    return { status: 400, body: { error: { message: 'Unterminated string', code: 400 } } };
  }
  return null;
};

describe('odd replies of a model, odd answers of a server', () => {
  let fixture: RunFixture;
  let server: FakePolicyServer;
  const spec = { collect: { trials: 2, concurrency: 8 }, identify: { minEachOutcome: 3 } };

  beforeEach(async () => {
    fixture = new RunFixture();
    server = await new FakePolicyServer(parcelPolicy(() => 0.5)).start();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  const collect = async () =>
    fixture.run(collectTrajectories.bind(null, fixture.deps), await fixture.prepare(server.baseUrl, spec));
  /** Answers the first turn about parcels of the 3xx, some of the tasks, in another way. */
  const answerSome = (answer: (request: WireRequest) => { status: number; body: unknown }, messages = 2) =>
    server.interceptors.push((request) =>
      request.messages.length === messages && parcelOf(request).startsWith('P3') ? answer(request) : null,
    );

  test.each(['{"parcel": ', '[1]', '"P1"', '7'])(
    'a server that parses the history takes the turns after the arguments %j',
    async (given) => {
      answerSome(() => ({ status: 200, body: weighing(given) }));
      server.interceptors.push(strict);
      const summary = await collect();
      expect(summary).toMatchObject({ episodes: 40 });
      expect(summary.refused).toBeUndefined();
      const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
      const odd = trajectories.filter(({ messages }) => messages[2]?.tool_calls?.[0]?.function.arguments === given);
      expect(odd.length).toBeGreaterThan(0);
      for (const { messages } of odd)
        expect(messages[3]?.content).toBe('Error: the arguments of weigh are not a JSON object.');
    },
  );

  test.each([[''], [null], [undefined]])('the arguments %j are none', async (given) => {
    answerSome(() => ({ status: 200, body: weighing(given) }));
    server.interceptors.push(strict);
    const trajectories = await getLines(fixture.store, (await collect()).trajectories, trajectorySchema);
    const odd = trajectories.filter(({ messages }) => messages[2]?.tool_calls?.[0]?.function.arguments === '{}');
    expect(odd.length).toBeGreaterThan(0);
    for (const { messages } of odd) expect(messages[3]?.content).not.toMatch(/JSON object/);
  });

  test('arguments that a server sends as an object are taken, and text in parts', async () => {
    answerSome((request) => {
      const call = { function: { name: 'weigh', arguments: { parcel: parcelOf(request) } } };
      return { status: 200, body: completion({ content: [{ type: 'text', text: 'well' }], tool_calls: [call] }) };
    });
    const trajectories = await getLines(fixture.store, (await collect()).trajectories, trajectorySchema);
    const odd = trajectories.filter(({ messages }) => messages[2]?.content === 'well');
    expect(odd.length).toBeGreaterThan(0);
    for (const { messages } of odd) expect(messages[3]?.content).toMatch(/^\d+ g$/);
  });

  test.each<[string, number, unknown]>([
    ['400', 400, { error: { message: 'Unterminated string' } }],
    ['422', 422, { detail: 'not this' }],
    ['413', 413, { error: { message: 'request entity too large' } }],
    ['a choice that is missing', 200, { choices: [] }],
    ['an answer of another form', 200, { choices: [{ message: { content: 7 } }] }],
    ['an error with status 200', 200, { error: { message: 'Provider returned error', code: 400 } }],
  ])('%s ends this rollout alone, and is counted', async (_, status, body) => {
    answerSome(() => ({ status, body }), 4);
    const summary = await collect();
    const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
    const refused = trajectories.filter(({ finish }) => finish === 'refused');
    expect(refused.length).toBeGreaterThan(0);
    expect(summary).toMatchObject({ episodes: 40, refused: refused.length });
  });

  test('an opening that the server refuses is a failed rollout', async () => {
    answerSome(() => ({ status: 400, body: { error: { message: 'content filter' } } }));
    const trajectories = await getLines(fixture.store, (await collect()).trajectories, trajectorySchema);
    const refused = trajectories.filter(({ finish }) => finish === 'refused');
    expect(refused.every(({ success, reward }) => !success && reward === 0)).toBe(true);
    expect(refused.length).toBeGreaterThan(0);
  });

  test('where the server refuses most, the stage waits with its words, and plays these tasks again', async () => {
    server.interceptors.push(() => ({ status: 400, body: { error: { message: 'tools need a parser' } } }));
    const context = await fixture.prepare(server.baseUrl, spec);
    const failed = fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    await expect(failed).rejects.toMatchObject({ type: 'Model.Refused', nonRetryable: true });
    await expect(failed).rejects.toThrow(/40 of 40 episodes.*tools need a parser/);
    server.interceptors.length = 0;
    const summary = await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    expect(summary.episodes).toBe(40);
    expect(summary.refused).toBeUndefined();
  });

  test('a server that works and sends no answers makes the stage wait, and the next attempt goes on', async () => {
    server.holdAfter = 10;
    const context = await fixture.prepare(server.baseUrl, { ...spec, model: { name: 'base', timeoutSeconds: 1 } });
    const collect = () => fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    const failed = collect();
    await expect(failed).rejects.toMatchObject({ type: 'Model.Slow', nonRetryable: true });
    await expect(failed).rejects.toThrow(/did not answer for 2 s\. It works, but is slow/);
    server.release();
    expect((await collect()).episodes).toBe(40);
  });

  test.each<[string, number, unknown, string, RegExp]>([
    [
      'an unknown model',
      400,
      { error: { message: 'Invalid model name passed in' } },
      'Model.Refused',
      /serve the model/,
    ],
    ['a bad key', 400, { error: { message: 'API key not valid.' } }, 'Model.Unauthorised', /WHET_MODEL_API_KEY/],
    ['a wrong address', 404, { detail: 'Not Found' }, 'Model.Refused', /model\.baseUrl/],
  ])('%s makes the stage wait at once', async (_, status, body, type, message) => {
    server.interceptors.push(() => ({ status, body }));
    const failed = collect();
    await expect(failed).rejects.toMatchObject({ type });
    await expect(failed).rejects.toThrow(message);
    expect(server.requests.length).toBeLessThan(20);
  });
});
