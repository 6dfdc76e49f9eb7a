// Tier: integration (fake model server).
import type { Clock } from '../../../activities/clock';
import type { RunModel } from '../../../activities/endpoints/run-model';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpModelClient, PolicyModel } from '../../../activities/rollout';
import type { ChatAnswer, ModelClient } from '../../../activities/rollout/model-client';
import { ModelFault } from '../../../activities/rollout/model-errors';
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
      concurrency: 8,
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
    const model = new PolicyModel({
      ...{ client, clock, model: runModel(), concurrency: 8, adapters: [], signal: controller.signal },
    });
    await expect(model.chat({ ...request, model: 'base' })).rejects.toThrow('stop it');
  });

  describe('how long an answer may take', () => {
    const slow = () => new ModelFault('slow', 'The model server at http://m/v1 did not answer for 9 s.');
    const gone = () => new ModelFault('unreachable', 'The model server at http://m/v1 is down.');
    const good = { content: 'late', fingerprint: null } as ChatAnswer;

    /** A model whose answers and lists of models are given, in their order; the last of them for ever. */
    function modelThat(answers: (ChatAnswer | ModelFault)[], lists: (null | ModelFault)[] = [null]) {
      const asked: number[] = [];
      const notes: (string | undefined)[] = [];
      let listed = 0;
      const next = <T>(values: (T | ModelFault)[], index: number): T => {
        const value = values[Math.min(index, values.length - 1)] as T | ModelFault;
        if (value instanceof ModelFault) throw value;
        return value;
      };
      const given: ModelClient = {
        chat: async ({ timeoutMs }) => next(answers, asked.push(timeoutMs!) - 1),
        models: async () => {
          next(lists, listed++);
          return [{ id: 'base', weightsSha256: null, root: null, maxModelLength: 2048 }];
        },
        loadAdapter: async () => undefined,
      };
      const open = (changes: { timeoutSeconds?: number }, concurrency: number) =>
        new PolicyModel({
          ...{ client: given, clock, model: runModel(changes), concurrency, adapters: [] },
          ...{ signal: new AbortController().signal, onTrouble: (note) => notes.push(note) },
        });
      return { asked, notes, open };
    }

    test.each([
      ['2,048 tokens, 64 at a time', {}, 2_048, 64, 2_168],
      ['512 tokens, one at a time', {}, 512, 1, 632],
      ['2,048 tokens, 256 at a time', {}, 2_048, 256, 5_363],
      ['one token', {}, 1, 64, 121],
      ['the setting of agent.yaml', { timeoutSeconds: 30 }, 2_048, 64, 30],
    ])('%s', async (_name, changes, maxTokens, concurrency, seconds) => {
      const { asked, open } = modelThat([good]);
      await open(changes, concurrency).chat({ ...request, model: 'base', maxTokens });
      expect(asked).toEqual([seconds * 1_000]);
    });

    test('a slow answer is asked for once more with twice the time, and the note names the field', async () => {
      const { asked, notes, open } = modelThat([slow(), good]);
      await expect(open({ timeoutSeconds: 9 }, 8).chat({ ...request, model: 'base' })).resolves.toBe(good);
      expect(asked).toEqual([9_000, 18_000]);
      expect(notes).toEqual([
        expect.stringMatching(/works, but is slow.* gets 18 s; model\.timeoutSeconds/),
        undefined,
      ]);
    });

    test('a server that is slow twice is Model.Slow, not down', async () => {
      const { asked, open } = modelThat([slow()]);
      const error = await open({ timeoutSeconds: 9 }, 8)
        .chat({ ...request, model: 'base' })
        .catch((e: unknown) => e);
      expect(error).toMatchObject({ type: 'Model.Slow', nonRetryable: true });
      expect((error as Error).message).toMatch(/It works, but is slow/);
      expect((error as Error).message).not.toMatch(/Start the server|whet up/);
      expect(asked).toHaveLength(2);
    });

    test('a silent server that does not list its models either is Model.Unreachable', async () => {
      const { asked, open } = modelThat([slow()], [null, gone()]);
      const error = open({ timeoutSeconds: 9 }, 8).chat({ ...request, model: 'base' });
      await expect(error).rejects.toMatchObject({ type: 'Model.Unreachable', nonRetryable: false });
      expect(asked).toHaveLength(1);
    });

    test.each([
      ['nothing', '', 'did not answer for 0.05 s'],
      ['its beginning', '{"choices":', 'began to answer, and then sent nothing for 0.05 s'],
    ])('of an answer, %s comes over the network', async (_name, beginning, words) => {
      const silent: Server = createServer((_, response) => void (beginning !== '' && response.write(beginning)));
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const baseUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`;
      await expect(client.chat({ ...request, model: 'base', baseUrl, timeoutMs: 50 })).rejects.toMatchObject({
        kind: 'slow',
        message: expect.stringContaining(words) as string,
      });
      silent.closeAllConnections();
      await new Promise((resolve) => silent.close(resolve));
    });
  });

  describe('the model that the run began with', () => {
    const of = (model: RunModel) =>
      new PolicyModel({
        ...{ client, clock, model, concurrency: 8, adapters: [], signal: new AbortController().signal },
      });
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

    test('of a run that reads no weights only what the server says is compared and told', async () => {
      const began = async (served: RunModel['served']) => {
        const model = of(runModel({ path: null, served }));
        server.root = '/models/second';
        return model.chat(ask).catch(({ message }: Error) => message);
      };
      const first = { weightsSha256: null, root: '/models/first', maxModelLength: 2048 };
      expect(await began(first)).toContain('model base, weights unknown (/models/first, context of 2048 tokens). Now');
      const silent = { weightsSha256: null, root: null, maxModelLength: null };
      expect(await began(silent)).toContain('model base, weights unknown. Now');
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
