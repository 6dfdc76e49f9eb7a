// Tier: integration (fake model server).
import type { Clock } from '../../../activities/clock';
import type { RunModel } from '../../../activities/endpoints/run-model';
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

const FIRST = '1'.repeat(64);
const SECOND = '2'.repeat(64);

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

  const runModel = (changes: Partial<RunModel> = {}): RunModel => ({
    baseUrl: server.baseUrl,
    addressFrom: 'worker',
    name: 'base',
    path: '/models/first',
    sha256: FIRST,
    served: { weightsSha256: null, root: null, maxModelLength: 2048 },
    ...changes,
  });

  const policy = (options: { adapters?: (typeof adapter)[]; onTrouble?: (note: string | undefined) => void } = {}) =>
    new PolicyModel({
      client,
      clock,
      model: runModel(),
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
    const model = new PolicyModel({ client, clock, model: runModel(), adapters: [], signal: controller.signal });
    await expect(model.chat({ ...request, model: 'base' })).rejects.toThrow('stop it');
  });

  describe('the model that the run began with', () => {
    const of = (model: RunModel) =>
      new PolicyModel({ client, clock, model, adapters: [], signal: new AbortController().signal });
    const ask = { ...request, model: 'base' };
    const changed = (words: string) => ({ type: 'Model.Changed', message: expect.stringContaining(words) as string });

    test('another one under the same name is Model.Changed before it is asked anything', async () => {
      server.weightsSha256 = SECOND;
      const served = { weightsSha256: FIRST, root: null, maxModelLength: 2048 };
      const other = await of(runModel({ served }))
        .chat(ask)
        .catch((error: unknown) => error);
      expect(other).toMatchObject({ ...changed('222222222222…'), nonRetryable: true });
      expect(other).toMatchObject(changed('111111111111… (/models/first)'));
      expect(server.requests).toHaveLength(0);
    });

    test('the answer of another one that came in between does not count', async () => {
      server.weightsSha256 = FIRST;
      const model = of(runModel());
      await model.chat(ask);
      server.weightsSha256 = SECOND;
      await expect(model.chat(ask)).rejects.toMatchObject(changed('222222222222…'));
    });

    test('who comes back is asked again, also where answers name no weights', async () => {
      server.root = '/models/first';
      const served = { weightsSha256: null, root: '/models/first', maxModelLength: 2048 };
      const model = of(runModel({ served }));
      await model.chat(ask);
      await server.stop();
      clock.onSleep = async (pauses) => {
        server.root = '/models/second';
        if (pauses === 1) await server.start();
      };
      await expect(model.chat(ask)).rejects.toMatchObject(changed('/models/second'));
    });

    test('before a result is kept, a server whose answers name no weights is asked, once for all who wait', async () => {
      server.root = '/models/first';
      const served = { weightsSha256: null, root: '/models/first', maxModelLength: 2048 };
      const model = of(runModel({ served }));
      await model.chat(ask);
      const models = jest.spyOn(client, 'models');
      await Promise.all(Array.from({ length: 8 }, () => model.confirm()));
      expect(models).toHaveBeenCalledTimes(1);
      server.root = '/models/second';
      await expect(model.confirm()).rejects.toMatchObject(changed('/models/second'));
    });

    test('answers that name their weights need no such question', async () => {
      server.weightsSha256 = FIRST;
      const model = of(runModel());
      await model.chat(ask);
      const models = jest.spyOn(client, 'models');
      await model.confirm();
      expect(models).not.toHaveBeenCalled();
    });

    test.each([
      ['agent.yaml', 'model.baseUrl of agent.yaml as it was when the run began'],
      ['worker', 'whet up'],
      ['frozen', 'when the run began, and this worker knows no other (WHET_MODEL_URL)'],
    ] as const)('nobody at its address (%s): says whose address it is', async (addressFrom, words) => {
      await server.stop();
      await expect(of(runModel({ addressFrom })).chat(ask)).rejects.toMatchObject({
        type: 'Model.Unreachable',
        message: expect.stringContaining(words) as string,
      });
    });

    test('a key that the server no longer takes is Model.Unauthorised', async () => {
      server.apiKey = 'new';
      await expect(of(runModel()).chat(ask)).rejects.toMatchObject({
        type: 'Model.Unauthorised',
        nonRetryable: true,
        message: expect.stringContaining('WHET_MODEL_API_KEY') as string,
      });
    });
  });
});
