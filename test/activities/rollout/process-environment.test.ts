// Tier: integration (a real process of an agent's owner in its jail, fake model server).
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readTargetProfile } from '../../../activities/environment-checks/target-profile';
import { readEnvironmentUse } from '../../../activities/budget/environment-meter';
import {
  type EnvironmentHandle,
  type OpenEnvironment,
  paidBy,
  readOwnerEnvironment,
} from '../../../activities/environment';
import { loadRollouts } from '../../../activities/rollout';
import { runDeployedRollouts } from '../../../activities/rollout/deployed-rollouts';
import { type PreparedSpec, preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { environmentSchema } from '../../../contracts/config/environment-kinds';
import { ownerEnvironment } from '../../../loaders/owner-environment';
import { openEnvironment } from '../../../sandbox';
import { getJson, layout } from '../../../store';
import { FakePolicyServer, type WireRequest } from '../../fakes/policy-server';
import { RunFixture } from '../run-fixture';

let fixture: RunFixture;
let server: FakePolicyServer;
beforeAll(async () => {
  fixture = new RunFixture();
  server = await new FakePolicyServer(answer).start();
  chmodSync(fixture.folder, 0o755);
  mkdirSync(join(fixture.folder, 'agent'));
  copyFileSync(join(__dirname, '../../fakes/process_server.py'), join(fixture.folder, 'agent', 'server.py'));
});
afterAll(async () => {
  await server.stop();
  await fixture.dispose();
});

/** A turn with words and three calls, of which the process can understand one; then words. */
function answer({ messages }: WireRequest) {
  if (messages.some(({ role }) => role === 'tool')) return { content: 'Bye.' };
  const calls = [
    { name: 'add', arguments: 'no JSON' },
    { name: 'add', arguments: { n: 1 } },
    { name: 'subtract', arguments: {} },
  ];
  return { content: 'I add.', calls };
}

/** A frozen spec whose environment is the fake's process, with two train tasks and one held-out task. */
async function prepare(variables: Record<string, string> = {}): Promise<PreparedSpec> {
  const context = await fixture.prepare(server.baseUrl);
  const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
  const environment = environmentSchema.parse({
    kind: 'process',
    command: ['python3', 'server.py'],
    variables,
    trainSeeds: { start: 0, count: 2 },
    heldOutSeeds: { start: 2, count: 1 },
    maxTurns: 2,
    successReward: 0.5,
  });
  const spec = { ...prepared.spec, environment };
  const environmentPath = join(fixture.folder, 'agent', 'agent.yaml');
  const facts = { deterministic: false, hasReferences: false, hasDiagnostics: false, costsTokens: true };
  return {
    ...prepared,
    spec,
    environmentPath,
    facts: { ...facts, playable: true, trainable: false, steppable: true, packages: 'desk==1.0' },
    environmentSha256: ownerEnvironment(spec, environmentPath).sha256('desk==1.0'),
  };
}

test('episodes of a process: whole turns, an opening that the agent began, and the tokens of its user', async () => {
  const prepared = await prepare();
  const plans = [0, 1].map((seed) => ({ seed, split: 'train' as const, trial: 0, model: 'base', samplingSeed: seed }));
  const run = () =>
    runDeployedRollouts(fixture.deps, prepared, {
      runId: 'run-1',
      plans,
      concurrency: 2,
      workKey: 'work/process',
      stage: 'collect',
    });
  const { trajectories } = await loadRollouts(await fixture.run(run, undefined));
  expect(trajectories).toHaveLength(2);
  const [first] = trajectories;
  expect(first!.messages.map(({ role, content }) => [role, content])).toEqual([
    ['system', 'Add.'],
    ['assistant', 'Hello!'],
    ['user', 'Task 0'],
    ['assistant', 'I add.'],
    ['tool', 'Error: the arguments of add are not a JSON object.'],
    ['tool', 'add I add.'],
    ['tool', 'Error: there is no tool named subtract.'],
    ['assistant', 'Bye.'],
    ['user', 'you said Bye.'],
  ]);
  expect(first).toMatchObject({
    openingAnswers: 1,
    reward: 0.5,
    success: true,
    finish: 'turn-limit',
    steps: 3,
    environmentUsage: { promptTokens: 10, completionTokens: 2 },
  });
});

test('an episode with tools of its own offers and takes those alone', async () => {
  const prepared = await prepare({ WAYS: JSON.stringify({ 1: 'own-tools' }) });
  const plans = [{ seed: 1, split: 'train' as const, trial: 0, model: 'base', samplingSeed: 1 }];
  const run = () =>
    runDeployedRollouts(fixture.deps, prepared, {
      ...{ runId: 'run-1', plans, concurrency: 1 },
      workKey: 'work/tools',
      stage: 'collect',
    });
  const { trajectories } = await loadRollouts(await fixture.run(run, undefined));
  const told = trajectories[0]!.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const unknown = 'Error: there is no tool named add.';
  expect(told).toEqual([unknown, unknown, 'subtract I add.']);
  const [asked] = server.requests
    .filter(({ messages }) => messages.some(({ content }) => content === 'Task 1'))
    .slice(-1);
  expect(asked!.tools).toEqual([{ type: 'function', function: { name: 'subtract' } }]);
});

const tasks = (count: number) =>
  Array.from({ length: count }, (_, seed) => ({
    ...{ seed, split: 'train' as const, trial: 0, model: 'base', samplingSeed: seed },
  }));

test('what users and judges spend is counted once for each try, however often a stage begins again', async () => {
  const prepared = await prepare({ WAYS: JSON.stringify({ 1: 'simulator', 2: 'raise' }) });
  const set = { runId: 'run-spent', concurrency: 4, workKey: 'runs/run-spent/work/collect.jsonl' };
  const collect = (count: number) =>
    fixture.run(
      () => runDeployedRollouts(fixture.deps, prepared, { ...set, stage: 'collect', plans: tasks(count) }),
      undefined,
    );
  await collect(5);
  // Three tasks end, one fails three times by itself, and one is dropped three times.
  const spent = { promptTokens: 3 * 10 + 3 * 7 + 3 * 4, completionTokens: 3 * 2 + 3 + 3 };
  expect(await readEnvironmentUse(fixture.store, 'run-spent')).toEqual({
    collect: { episodes: 9, unknown: 0, ...spent },
  });
  await collect(5);
  // A worker that was killed before it wrote its counts: they are in the work file.
  const { version } = (await fixture.store.readDocument(layout.environmentUse('run-spent')))!;
  await fixture.store.swapDocument(layout.environmentUse('run-spent'), { uses: {}, counted: {} }, version);
  await collect(6);
  expect(await readEnvironmentUse(fixture.store, 'run-spent')).toEqual({
    collect: { episodes: 10, unknown: 0, promptTokens: spent.promptTokens + 10, completionTokens: 14 },
  });
});

test('a set of rollouts stops at the budget of users and judges, keeps what it paid, and goes on', async () => {
  const prepared = await prepare();
  prepared.spec.budget = { environment: { tokens: 40 } };
  const set = { runId: 'run-limit', concurrency: 1, workKey: 'runs/run-limit/work/collect.jsonl' };
  const collect = () =>
    fixture.run(
      () => runDeployedRollouts(fixture.deps, prepared, { ...set, stage: 'collect', plans: tasks(6) }),
      undefined,
    );
  await expect(collect()).rejects.toMatchObject({
    type: 'Budget.Spent',
    nonRetryable: true,
    message:
      '36 of 40 tokens are spent on the simulated users and judges of 3 episodes; one more would pass the budget. ' +
      'Raise it with: whet budget run-limit --environment-tokens N',
  });
  await fixture.store.swapDocument(layout.budget('run-limit'), { environment: { tokens: 80 } }, null);
  expect((await collect()).episodes).toBe(6);
  expect(await readEnvironmentUse(fixture.store, 'run-limit')).toMatchObject({
    collect: { episodes: 6, promptTokens: 60 },
  });
});

test('a task that ends its process fails after three tries, and takes no other episode with it', async () => {
  const prepared = await prepare({ WAYS: JSON.stringify({ 3: 'crash' }), RESET_SECONDS: '0.3' });
  const plans = Array.from({ length: 20 }, (_, seed) => {
    return { seed, split: 'train' as const, trial: 0, model: 'base', samplingSeed: seed };
  });
  const run = () =>
    runDeployedRollouts(fixture.deps, prepared, {
      runId: 'run-1',
      plans,
      concurrency: 10,
      workKey: 'work/crash',
      stage: 'collect',
    });
  const finished = await fixture.run(run, undefined);
  expect(finished.failed!.byCause).toEqual({ crash: 1 });
  const seeds = (await loadRollouts(finished)).trajectories.map(({ task }) => task.seed);
  expect(seeds).toEqual(plans.map(({ seed }) => seed).filter((seed) => seed !== 3));
});

test('several tasks that end their process do not make all others wait for one another', async () => {
  const poison = [1, 4, 6, 9];
  const prepared = await prepare({
    WAYS: JSON.stringify(Object.fromEntries(poison.map((seed) => [seed, 'crash']))),
    RESET_SECONDS: '0.3',
  });
  const plans = Array.from({ length: 12 }, (_, seed) => {
    return { seed, split: 'train' as const, trial: 0, model: 'base', samplingSeed: seed };
  });
  // The episodes that each environment has open, and most of them at a time.
  const open = new Map<EnvironmentHandle, { now: number; most: number }>();
  const count = (handle: EnvironmentHandle, change: number): void => {
    const episodes = open.get(handle)!;
    episodes.now += change;
    episodes.most = Math.max(episodes.most, episodes.now);
  };
  const openEnvironment: OpenEnvironment = async (source) => {
    const handle = await fixture.deps.openEnvironment(source);
    open.set(handle, { now: 0, most: 0 });
    const reset = handle.reset.bind(handle);
    handle.reset = async (...given) => {
      count(handle, 1);
      return reset(...given).finally(() => count(handle, -1));
    };
    return handle;
  };
  const run = () =>
    runDeployedRollouts({ ...fixture.deps, openEnvironment }, prepared, {
      ...{ runId: 'run-1', plans, concurrency: plans.length, workKey: 'work/poison', stage: 'collect' },
    });
  const finished = await fixture.run(run, undefined);
  expect(finished.failed!.byCause).toEqual({ crash: poison.length });
  const seeds = (await loadRollouts(finished)).trajectories.map(({ task }) => task.seed);
  expect(seeds).toEqual(plans.map(({ seed }) => seed).filter((seed) => !poison.includes(seed)));
  const [first, ...apart] = [...open.values()];
  expect(first!.most).toBe(plans.length);
  expect(apart.length).toBeGreaterThan(1);
  expect(new Set(apart.map(({ most }) => most))).toEqual(new Set([1]));
});

test('a task that ends its process as it opens is left out of the profile, and no other one is', async () => {
  const prepared = await prepare({ WAYS: JSON.stringify({ 1: 'crash-at-reset' }), RESET_SECONDS: '0.5' });
  const profile = await readTargetProfile({
    openEnvironment,
    environment: paidBy(await readOwnerEnvironment(prepared), null),
    spec: prepared.spec.environment,
    signal: new AbortController().signal,
  });
  expect(profile).toMatchObject({ train: ['Task 0'], heldOut: ['Task 2'] });
});

test('other packages than when the run began stop it before an episode', async () => {
  const prepared = await prepare({ PACKAGES: 'desk==2.0' });
  const plans = [{ seed: 0, split: 'train' as const, trial: 0, model: 'base', samplingSeed: 0 }];
  const run = () =>
    runDeployedRollouts(fixture.deps, prepared, {
      runId: 'run-1',
      plans,
      concurrency: 2,
      workKey: 'work/other',
      stage: 'collect',
    });
  await expect(fixture.run(run, undefined)).rejects.toMatchObject({
    type: 'Environment.Failed',
    nonRetryable: true,
    message: expect.stringContaining('has other packages than when the run began') as string,
  });
});

test('its profile has its tools and openings, and no solutions to compare with', async () => {
  const prepared = await prepare();
  const profile = await readTargetProfile({
    openEnvironment,
    environment: paidBy(await readOwnerEnvironment(prepared), null),
    spec: prepared.spec.environment,
    signal: new AbortController().signal,
  });
  expect(profile.tools.map((tool) => tool.function.name)).toEqual(['add']);
  expect(profile).toMatchObject({ hasSay: true, train: ['Task 0', 'Task 1'], heldOut: ['Task 2'], solved: [] });
  expect(profile.judgement.byChange).toEqual([]);
  expect([...profile.formats.keys()]).toEqual(['add']);
});
