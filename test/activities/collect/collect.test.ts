// Tier: integration (real environment runtime, fake model server).
import { collectTrajectories } from '../../../activities/collect';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { trajectoryId } from '../../../contracts/artifacts/trajectory-id';
import { type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { collectedTraces, getLines, layout, putLines, readSegment, readTraces } from '../../../store';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { RunFixture } from '../run-fixture';

describe('collectTrajectories', () => {
  let fixture: RunFixture;
  let server: FakePolicyServer;
  const small = {
    path: 'parcel_desk.py',
    trainSeeds: { start: 0, count: 20 },
    heldOutSeeds: { start: 1000, count: 10 },
    maxTurns: 4,
  };
  const spec = { collect: { trials: 2, concurrency: 8 }, identify: { minEachOutcome: 3 } };

  beforeEach(async () => {
    fixture = new RunFixture();
    server = await new FakePolicyServer(parcelPolicy(() => 0.5)).start();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  const collect = async (runId = 'run-1', options = spec) => {
    const context = await fixture.prepare(server.baseUrl, options, undefined, runId);
    return fixture.run(collectTrajectories.bind(null, fixture.deps), context);
  };
  const workLines = async () => {
    const segment = fixture.store.segment('runs/run-1/work/collect.jsonl');
    return (await readSegment(segment, z.object({ trajectory: trajectorySchema }))).values;
  };

  test('rolls every task and trial out and sums them up', async () => {
    const summary = await collect();
    expect(summary).toMatchObject({ episodes: 40, promptTokens: 800, completionTokens: 400 });
    expect(summary.successes + summary.failures).toBe(40);
    const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
    expect(trajectories.map(({ task, trial }) => [task.seed, trial])).toEqual(
      Array.from({ length: 40 }, (_, index) => [index >> 1, index & 1]),
    );
    const [first] = trajectories;
    expect(first!.messages.map((message) => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
    expect(first).toMatchObject({
      finish: 'done',
      steps: 2,
      tags: ['heavy'],
      diagnostics: { 'weigh-first': 'present' },
    });
    expect(
      server.requests
        .filter((request) => request.messages.length === 4)
        .every((request) => request.tools?.length === 2),
    ).toBe(true);
  });

  test('reasoning is kept and goes back to the server, and replies that were cut are counted', async () => {
    const plain = parcelPolicy(() => 0.5);
    await server.stop();
    server = await new FakePolicyServer((request) => ({
      ...plain(request),
      reasoning: `thought ${request.messages.length}`,
      cut: request.messages.length > 2 && request.seed % 2 === 0,
    })).start();
    const summary = await collect();
    const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
    for (const { messages, samplingSeed, cutReplies } of trajectories) {
      expect(messages.flatMap((message) => message.reasoning_content ?? [])).toEqual(['thought 2', 'thought 4']);
      expect(cutReplies).toBe(samplingSeed % 2 === 1 ? 1 : undefined);
    }
    const second = server.requests.find(({ messages }) => messages.length === 4);
    expect(second?.messages[2]).toMatchObject({ role: 'assistant', reasoning_content: 'thought 2' });
    expect(summary.cut).toBe(trajectories.filter(({ samplingSeed }) => samplingSeed % 2 === 1).length);
  });

  test('heartbeats count the rollouts', async () => {
    await collect();
    expect(fixture.heartbeats[0]).toMatchObject({ stage: 'collect', unit: 'rollouts', done: 0, total: 40 });
    expect(fixture.heartbeats.at(-1)).toMatchObject({ done: 40, total: 40 });
  });

  test('the artifact is a function of the seed: another run with other concurrency has the same bytes', async () => {
    const one = await collect('run-1');
    const two = await collect('run-2', { ...spec, collect: { trials: 2, concurrency: 3 } });
    expect(two.trajectories.sha256).toBe(one.trajectories.sha256);
  });

  test('turn t samples with the episode seed plus t', async () => {
    const summary = await collect();
    const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
    const expected = trajectories.flatMap(({ samplingSeed }) => [samplingSeed, samplingSeed + 1]);
    expect(server.requests.map((request) => request.seed).sort()).toEqual(expected.sort());
  });

  describe('with conversations of live traffic in the store', () => {
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const conversation = (seed: number, model: string): Trajectory => {
      const messages: Trajectory['messages'] = [
        { role: 'user', content: `where is parcel ${seed}?` },
        { role: 'assistant', content: 'gone' },
      ];
      const task = { seed, split: 'live' as const };
      const id = trajectoryId({ task, trial: 0, model, messages });
      const usage = { promptTokens: 9, completionTokens: 1, cachedTokens: 0 };
      return {
        id,
        task,
        trial: 0,
        model,
        samplingSeed: 0,
        messages,
        reward: 0,
        success: false,
        finish: 'done',
        steps: 0,
        usage,
        tags: [],
        diagnostics: {},
      };
    };
    const write = (ago: number, ...conversations: Trajectory[]) =>
      putLines(fixture.store, layout.traces('parcels', day(ago)), 'live.jsonl', conversations);

    test('those that the base model answered join the rollouts once, behind them and at no cost', async () => {
      await write(0, conversation(2 ** 40, 'base'), conversation(2 ** 41, 'weigh@0123456789ab'));
      await write(3, conversation(2 ** 40, 'base'), conversation(2 ** 42, 'base'));
      await write(20, conversation(2 ** 43, 'base'));
      const summary = await collect();
      expect(summary).toMatchObject({ episodes: 42, live: 2, promptTokens: 800, completionTokens: 400 });
      const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
      expect(
        trajectories
          .slice(40)
          .map(({ task }) => task.seed)
          .sort(),
      ).toEqual([2 ** 40, 2 ** 42]);
    });

    test('too few of either outcome: live traffic is told apart, and is not scaled with the rollouts', async () => {
      const won = (seed: number) => ({ ...conversation(seed, 'base'), reward: 1, success: true });
      await write(0, ...[40, 41, 42].flatMap((power) => [won(2 ** power), conversation(2 ** power + 1, 'base')]));
      const failure = (await collect('run-1', { ...spec, identify: { minEachOutcome: 40 } }).catch(
        (error: unknown) => error,
      )) as Error;
      const found =
        /40 rollouts .* and 6 conversations of .* gave (\d+) successes and (\d+) fail.*count to about (\d+)/.exec(
          failure.message,
        );
      const [successes, failures, tasks] = found!.slice(1).map(Number) as [number, number, number];
      expect(successes + failures).toBe(46);
      expect(tasks).toBe(Math.ceil((20 * (40 * 1.2 - 3)) / (Math.min(successes, failures) - 3)));
    });

    test('agent.yaml says how many, how old and whether those of adapters too', async () => {
      await write(0, conversation(2 ** 41, 'weigh@0123456789ab'));
      await write(20, conversation(2 ** 43, 'base'), conversation(2 ** 44, 'base'));
      const withLive = (live: object, run: string) =>
        collect(run, { ...spec, collect: { ...spec.collect, live } } as typeof spec);
      expect(await withLive({ days: 30, models: 'any' }, 'run-1')).toMatchObject({ live: 3 });
      expect(await withLive({ days: 30, models: 'any', most: 2 }, 'run-2')).toMatchObject({ live: 2 });
      expect((await withLive({ most: 0 }, 'run-3')).live).toBeUndefined();
    });

    test('a conversation that went on after its first outcome is there once, as it was last', async () => {
      const first = conversation(2 ** 40, 'base');
      const longer = (seed: number, turns: number): Trajectory => {
        const { task, trial, model, ...rest } = conversation(seed, 'base');
        const messages = Array.from({ length: turns }, () => rest.messages).flat();
        return { ...rest, task, trial, model, messages, id: trajectoryId({ task, trial, model, messages }) };
      };
      await write(0, longer(2 ** 40, 2), longer(2 ** 40, 3), conversation(2 ** 40, 'base'), longer(2 ** 41, 1));
      await write(1, first, longer(2 ** 41, 2));
      const { trajectories } = await readTraces(fixture.store, 'parcels', {
        ...collectedTraces({ days: 7, most: 9, models: 'base' }, 'base'),
        now: Date.now(),
      });
      const turns = Object.fromEntries(trajectories.map(({ task, messages }) => [task.seed, messages.length / 2]));
      expect(turns).toEqual({ [2 ** 40]: 3, [2 ** 41]: 1 });
      expect(trajectories).toHaveLength(2);
    });

    test('reading them sends heartbeats while the store is slow, and ends when the stage is cancelled', async () => {
      await write(0, conversation(2 ** 40, 'base'));
      const context = await fixture.prepare(server.baseUrl, spec);
      const activity = fixture.activity();
      const beats = () => fixture.heartbeats.filter(({ note }) => note === 'reading live traffic').length;
      const list = fixture.store.list.bind(fixture.store);
      let read = 0;
      jest.spyOn(fixture.store, 'list').mockImplementation(async (directory) => {
        if (!directory.startsWith('traces/')) return list(directory);
        const before = beats();
        while (beats() < before + 2) await new Promise((resolve) => setTimeout(resolve, 20));
        if (++read === 1) activity.cancel('CANCELLED');
        return list(directory);
      });
      await expect(fixture.run(collectTrajectories.bind(null, fixture.deps), context, activity)).rejects.toMatchObject({
        name: 'CancelledFailure',
      });
      expect(read).toBe(1);
    });

    test('lines that are no trajectories are left out and counted', async () => {
      const { usage, ...rest } = conversation(2 ** 41, 'base');
      await write(0, conversation(2 ** 40, 'base'), { ...rest, usage: { ...usage, promptTokens: 7.5 } });
      await fixture.store.put(layout.traces('parcels', day(1)), 'live.jsonl', 'half a li\n');
      const summary = await collect();
      expect(summary).toMatchObject({ episodes: 41, live: 1, unreadable: 2 });
      const { unreadable } = await readTraces(fixture.store, 'parcels', {
        ...collectedTraces({ days: 7, most: 9, models: 'base' }, 'base'),
        now: Date.now(),
      });
      expect(unreadable).toEqual(
        [0, 1].map((ago) => ({ key: expect.stringContaining(layout.traces('parcels', day(ago))), lines: 1 })),
      );
    });

    test('a file whose bytes were changed stops the stage', async () => {
      const { key } = await write(0, conversation(2 ** 40, 'base'));
      appendFileSync(fixture.store.localPath(key), '\n');
      await expect(collect()).rejects.toMatchObject({ type: 'Store.Corrupt' });
    });
  });

  test('a retry does only what is not in the work file yet', async () => {
    const whole = await collect('run-1');
    // The first half of the work file is what an attempt leaves that is killed in the middle of a write.
    const lines = readFileSync(fixture.store.localPath('runs/run-1/work/collect.jsonl'), 'utf8').split('\n');
    const segment = fixture.store.segment('runs/run-2/work/collect.jsonl');
    for (const line of lines.slice(0, 15)) await segment.append(JSON.parse(line));
    await segment.close();
    server.requests.length = 0;
    const resumed = await collect('run-2');
    expect(server.requests).toHaveLength(25 * 2);
    expect(resumed.trajectories.sha256).toBe(whole.trajectories.sha256);
    expect(resumed.seconds).toBeGreaterThan(0);
    expect(fixture.heartbeats.find((beat) => beat.done === 15)).toBeDefined();
  });

  test('an episode whose line is damaged is run again, and the others are not', async () => {
    const whole = await collect('run-1');
    const path = fixture.store.localPath('runs/run-1/work/collect.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [lines[0]!.slice(0, 40), '{"trajectory":{}}', ...lines.slice(2)].join('\n'));
    server.requests.length = 0;
    const resumed = await collect('run-1');
    expect(server.requests).toHaveLength(2 * 2);
    expect(resumed.trajectories.sha256).toBe(whole.trajectories.sha256);
  });

  test('a cancelled attempt stops, keeps what it has, and the next one goes on', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    server.holdAfter = 30;
    const activity = fixture.activity();
    const running = fixture.run(collectTrajectories.bind(null, fixture.deps), context, activity);
    while (server.held < spec.collect.concurrency) await new Promise((resolve) => setTimeout(resolve, 5));
    activity.cancel('CANCELLED');
    await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
    server.release();
    const kept = (await workLines()).length;
    expect(kept).toBeGreaterThan(0);
    server.requests.length = 0;
    await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    expect(server.requests).toHaveLength((40 - kept) * 2);
  });

  test('too few of either outcome: says how many there are and what to raise', async () => {
    const failure = collect('run-1', { ...spec, identify: { minEachOutcome: 30 } });
    await expect(failure).rejects.toMatchObject({ type: 'Collect.TooFewToContrast', nonRetryable: true });
    await expect(failure).rejects.toThrow(
      /40 rollouts \(20 tasks x 2 trials\) gave \d+ successes and \d+ failures.*at least 30.*Seeds\.count to about \d+/,
    );
  });

  test("an exception of the owner's environment fails the stage with its traceback", async () => {
    const context = await fixture.prepare(server.baseUrl, spec, 'raising_desk.py');
    const failure = fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    await expect(failure).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: false });
    await expect(failure).rejects.toThrow(/While task \d+ \(trial \d\) was played: .*ZeroDivisionError/);
    await expect(failure).rejects.toThrow(/ZeroDivisionError[\s\S]*raising_desk\.py:\d+ in step/);
  });

  test("what the owner's environment raises in a task again and again waits for the owner", async () => {
    const context = await fixture.prepare(server.baseUrl, spec, 'raising_desk.py');
    const failure = fixture.run(
      collectTrajectories.bind(null, fixture.deps),
      context,
      fixture.activity({ attempt: 10 }),
    );
    await expect(failure).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: true });
  });

  test('a conversation that outgrows the model ends there', async () => {
    const context = await fixture.prepare(server.baseUrl, {
      ...spec,
      identify: { minEachOutcome: 1 },
      environment: { ...small, trainSeeds: { start: 0, count: 4 } },
    });
    // The second turn of the first two episodes that get there.
    const tooLong = { error: { message: 'the prompt has 3000 tokens', code: 'context_length_exceeded' } };
    let turns = 0;
    server.interceptors.push(({ messages }) =>
      messages.length > 2 && turns++ < 2 ? { status: 400, body: tooLong } : null,
    );
    const summary = await fixture
      .run(collectTrajectories.bind(null, fixture.deps), context)
      .catch((error: unknown) => error);
    const lines = await workLines();
    expect(summary).toBeDefined();
    expect(lines.map(({ trajectory }) => trajectory.finish).sort()).toEqual([
      'context-length',
      'context-length',
      ...Array<string>(6).fill('done'),
    ]);
  });

  const refuseLong = (isTooLong: (task: string) => boolean) =>
    server.interceptors.push(({ messages }) =>
      isTooLong(messages.find(({ role }) => role === 'user')!.content!)
        ? { status: 400, body: { error: { message: 'the prompt has 3000 tokens', code: 'context_length_exceeded' } } }
        : null,
    );

  test('an opening that is too long for the model is a failed episode, and is counted', async () => {
    refuseLong((task) => task.includes('P3'));
    const summary = await collect();
    const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
    const tooLong = trajectories.filter(({ finish }) => finish === 'context-length');
    expect(tooLong.length).toBeGreaterThan(0);
    expect(tooLong.every(({ success, reward }) => !success && reward === 0)).toBe(true);
    expect(summary).toMatchObject({ episodes: 40, tooLong: tooLong.length });
  });

  test('where most openings are too long the stage waits, and plays these tasks again afterwards', async () => {
    const whole = await collect('run-2');
    refuseLong(() => true);
    const context = await fixture.prepare(server.baseUrl, spec);
    await expect(fixture.run(collectTrajectories.bind(null, fixture.deps), context)).rejects.toMatchObject({
      type: 'Model.ContextTooShort',
      nonRetryable: true,
      message: expect.stringContaining('40 of 40 episodes') as string,
    });
    server.interceptors.length = 0;
    const summary = await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    expect(summary.trajectories.sha256).toBe(whole.trajectories.sha256);
  });

  test('malformed arguments, made-up tools and text are answered as a desk would', async () => {
    const script = [
      { calls: [{ name: 'weigh', arguments: '{"parcel": ' }] },
      { calls: [{ name: 'no_such_tool', arguments: { parcel: 'half a pair: \ud83d' } }] },
      { content: 'I am done.' },
    ];
    await server.stop();
    server = await new FakePolicyServer(
      ({ messages }) => script[messages.filter(({ role }) => role === 'assistant').length]!,
    ).start();
    const context = await fixture.prepare(server.baseUrl, {
      ...spec,
      environment: { ...small, trainSeeds: { start: 0, count: 1 } },
    });
    await expect(fixture.run(collectTrajectories.bind(null, fixture.deps), context)).rejects.toMatchObject({
      type: 'Collect.TooFewToContrast',
    });
    const lines = await workLines();
    const { trajectory } = lines[0]!;
    expect(trajectory.finish).toBe('no-tool-call');
    expect(trajectory.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'Error: the arguments of weigh are not a JSON object.',
      'no such parcel',
    ]);
  });
});
