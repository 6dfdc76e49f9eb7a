// Tier: integration (fake model server).
import type { Clock } from '../../../activities/clock';
import { HttpModelClient, PolicyModel } from '../../../activities/rollout';
import { FakePolicyServer } from '../../fakes/policy-server';

/** A clock whose pauses take no time, and may do something instead. */
class QuickClock implements Clock {
  time = 0;
  readonly pauses: number[] = [];
  onSleep: (pauses: number) => Promise<void> = async () => {};

  now(): number {
    return this.time;
  }

  async sleep(ms: number): Promise<void> {
    this.time += ms;
    this.pauses.push(ms);
    await this.onSleep(this.pauses.length);
  }
}

describe('PolicyModel', () => {
  let server: FakePolicyServer;
  let client: HttpModelClient;
  let clock: QuickClock;
  const adapter = { name: 'weigh@0123456789ab', path: '/adapters/weigh' };
  const request = { messages: [{ role: 'user' as const, content: 'hello' }], temperature: 1, seed: 1, maxTokens: 8 };

  beforeEach(async () => {
    server = await new FakePolicyServer(({ model }) => ({ content: `from ${model}` })).start();
    client = new HttpModelClient();
    clock = new QuickClock();
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const policy = (options: { adapters?: (typeof adapter)[]; onTrouble?: (note: string | undefined) => void } = {}) =>
    new PolicyModel({
      client,
      clock,
      baseUrl: server.baseUrl,
      adapters: options.adapters ?? [adapter],
      signal: new AbortController().signal,
      ...options,
    });

  test('loads an adapter that is not served, once', async () => {
    const model = policy();
    await Promise.all([model.ensureAdapters(), model.ensureAdapters()]);
    await model.ensureAdapters();
    expect(server.loads).toEqual([{ lora_name: adapter.name, lora_path: adapter.path }]);
  });

  test('an adapter that another activity has loaded is left alone', async () => {
    server.adapters.add(adapter.name);
    await policy().ensureAdapters();
    expect(server.loads).toHaveLength(0);
  });

  test('a server that was restarted gets its adapter again, and the calls go on', async () => {
    const model = policy();
    await model.ensureAdapters();
    await server.stop();
    clock.onSleep = async (pauses) => void (pauses === 3 && (await server.start()));
    const answers = await Promise.all(Array.from({ length: 8 }, () => model.chat({ ...request, model: adapter.name })));
    expect(answers.map((answer) => answer.content)).toEqual(Array(8).fill(`from ${adapter.name}`));
    expect(server.loads).toHaveLength(2);
  });

  test('waits longer each time, tells what it waits for, and that it is over', async () => {
    const notes: (string | undefined)[] = [];
    server.failNext.push({ status: 503 }, { status: 503 }, { status: 500 });
    await policy({ onTrouble: (note) => notes.push(note) }).chat({ ...request, model: 'base' });
    expect(clock.pauses).toEqual([250, 500, 1000]);
    expect(notes[0]).toContain('503');
    expect(notes.at(-1)).toBeUndefined();
  });

  test('waits as long as a busy server asks for', async () => {
    server.failNext.push({ status: 429, headers: { 'retry-after': '7' } });
    await policy().chat({ ...request, model: 'base' });
    expect(clock.pauses).toEqual([7000]);
  });

  test('a server that stays away is Model.Unreachable after about a minute', async () => {
    await server.stop();
    await expect(policy().chat({ ...request, model: 'base' })).rejects.toMatchObject({
      type: 'Model.Unreachable',
      nonRetryable: false,
    });
    expect(clock.time).toBeGreaterThan(50_000);
    expect(clock.time).toBeLessThanOrEqual(60_000);
  });

  test('a model that nobody can load is Model.Refused at once', async () => {
    await expect(policy({ adapters: [] }).chat({ ...request, model: 'other' })).rejects.toMatchObject({
      type: 'Model.Refused',
      nonRetryable: true,
    });
    expect(clock.pauses).toHaveLength(0);
  });

  test('an answer that is no completion is Model.Refused', async () => {
    server.failNext.push({ status: 200, body: { hello: 'world' } });
    await expect(policy().chat({ ...request, model: 'base' })).rejects.toMatchObject({ type: 'Model.Refused' });
  });

  test('cancellation ends the waiting with its reason', async () => {
    await server.stop();
    const controller = new AbortController();
    clock.onSleep = async () => controller.abort(new Error('stop it'));
    const model = new PolicyModel({ client, clock, baseUrl: server.baseUrl, adapters: [], signal: controller.signal });
    await expect(model.chat({ ...request, model: 'base' })).rejects.toThrow('stop it');
  });
});
