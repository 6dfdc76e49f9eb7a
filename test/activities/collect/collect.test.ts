// Tier: integration (real environment runtime, fake model server).
import { readFileSync } from 'node:fs';
import { createCollectActivities } from '../../../activities/collect';
import { type Trajectory, trajectorySchema } from '../../../contracts';
import { getLines } from '../../../store';
import { FakeModelServer, parcelPolicy } from '../fake-model-server';
import { RunFixture } from '../run-fixture';

describe('collectTrajectories', () => {
  let fixture: RunFixture;
  let server: FakeModelServer;
  const small = { path: 'parcel_desk.py', trainSeeds: { start: 0, count: 20 }, heldOutSeeds: { start: 1000, count: 10 }, maxTurns: 4 };
  const spec = { collect: { trials: 2, concurrency: 8 }, identify: { minEachOutcome: 3 } };

  beforeEach(async () => {
    fixture = new RunFixture();
    server = await new FakeModelServer(parcelPolicy(() => 0.5)).start();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  const collect = async (runId = 'run-1', options = spec) => {
    const context = await fixture.prepare(server.baseUrl, options, undefined, runId);
    return fixture.run(createCollectActivities(fixture.deps).collectTrajectories, context);
  };

  test('rolls every task and trial out and sums them up', async () => {
    const summary = await collect();
    expect(summary).toMatchObject({ episodes: 40, promptTokens: 800, completionTokens: 400 });
    expect(summary.successes + summary.failures).toBe(40);
    const trajectories = await getLines(fixture.store, summary.trajectories, trajectorySchema);
    expect(trajectories.map(({ task, trial }) => [task.seed, trial])).toEqual(Array.from({ length: 40 }, (_, index) => [index >> 1, index & 1]));
    const [first] = trajectories;
    expect(first!.messages.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'tool']);
    expect(first).toMatchObject({ finish: 'done', steps: 2, tags: ['heavy'], diagnostics: { 'weigh-first': 'present' }, logprob: -1 });
    expect(server.requests.filter((request) => request.messages.length === 4).every((request) => request.tools?.length === 2)).toBe(true);
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

  test('a cancelled attempt stops, keeps what it has, and the next one goes on', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const { collectTrajectories } = createCollectActivities(fixture.deps);
    server.delayMs = 5;
    const activity = fixture.activity();
    const running = fixture.run(collectTrajectories, context, activity);
    while (server.requests.length < 30) await new Promise((resolve) => setTimeout(resolve, 5));
    activity.cancel('CANCELLED');
    await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
    const kept = (await fixture.store.segment('runs/run-1/work/collect.jsonl').read()).length;
    expect(kept).toBeGreaterThan(0);
    server.requests.length = 0;
    await fixture.run(collectTrajectories, context);
    expect(server.requests).toHaveLength((40 - kept) * 2);
  });

  test('too few of either outcome: says how many there are and what to raise', async () => {
    const failure = collect('run-1', { ...spec, identify: { minEachOutcome: 30 } });
    await expect(failure).rejects.toMatchObject({ type: 'Collect.TooFewToContrast', nonRetryable: true });
    await expect(failure).rejects.toThrow(
      /40 rollouts \(20 tasks x 2 trials\) gave \d+ successes and \d+ failures.*at least 30.*trainSeeds\.count to about \d+/,
    );
  });

  test("an exception of the owner's environment fails the stage with its traceback", async () => {
    const context = await fixture.prepare(server.baseUrl, spec, 'raising_desk.py');
    const failure = fixture.run(createCollectActivities(fixture.deps).collectTrajectories, context);
    await expect(failure).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: false });
    await expect(failure).rejects.toThrow(/ZeroDivisionError[\s\S]*environment\.py:\d+ in step/);
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
    server.interceptors.push(({ messages }) => (messages.length > 2 && turns++ < 2 ? { status: 400, body: tooLong } : null));
    const summary = await fixture.run(createCollectActivities(fixture.deps).collectTrajectories, context).catch((error: unknown) => error);
    const lines = (await fixture.store.segment('runs/run-1/work/collect.jsonl').read()) as { trajectory: { finish: string; steps: number } }[];
    expect(summary).toBeDefined();
    expect(lines.map(({ trajectory }) => trajectory.finish).sort()).toEqual([...Array<string>(6).fill('done'), 'turn-limit', 'turn-limit']);
  });

  test('an opening that is too long for the model fails the stage', async () => {
    server.interceptors.push(() => ({ status: 400, body: { error: { message: 'the prompt has 3000 tokens', code: 'context_length_exceeded' } } }));
    await expect(collect()).rejects.toMatchObject({ type: 'Model.Refused', message: expect.stringContaining('3000 tokens') as string });
  });

  test('malformed arguments, made-up tools and text are answered as a desk would', async () => {
    const script = [
      { calls: [{ name: 'weigh', arguments: '{"parcel": ' }] },
      { calls: [{ name: 'no_such_tool', arguments: { parcel: 'half a pair: \ud83d' } }] },
      { content: 'I am done.' },
    ];
    await server.stop();
    server = await new FakeModelServer(({ messages }) => script[messages.filter(({ role }) => role === 'assistant').length]!).start();
    const context = await fixture.prepare(server.baseUrl, { ...spec, environment: { ...small, trainSeeds: { start: 0, count: 1 } } });
    await expect(fixture.run(createCollectActivities(fixture.deps).collectTrajectories, context)).rejects.toMatchObject({ type: 'Collect.TooFewToContrast' });
    const lines = (await fixture.store.segment('runs/run-1/work/collect.jsonl').read()) as { trajectory: Trajectory }[];
    const { trajectory } = lines[0]!;
    expect(trajectory.finish).toBe('no-tool-call');
    expect(trajectory.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'Error: the arguments of weigh are not a JSON object.',
      'no such parcel',
    ]);
  });
});
