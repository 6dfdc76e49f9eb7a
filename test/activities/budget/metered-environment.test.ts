// Tier: integration (a real process of an agent's owner in its jail).
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readEnvironmentUse } from '../../../activities/budget/environment-meter';
import { paidBy, readOwnerEnvironment } from '../../../activities/environment';
import { routeTasks } from '../../../activities/evaluate/route-tasks';
import { acceptedSolutions, solutionPlayer } from '../../../activities/target-profile/play-solutions';
import { targetProfileReader } from '../../../activities/target-profile/read-target-profile';
import { type PreparedSpec, preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { environmentSchema } from '../../../contracts/config/environment-kinds';
import { ownerEnvironment } from '../../../loaders/owner-environment';
import { getJson, layout, putJson } from '../../../store';
import { RunFixture } from '../run-fixture';

/** What the fake's process says of an episode that was played to its end, and of one that was dropped. */
const PLAYED = { promptTokens: 10, completionTokens: 2 };
const DROPPED = { promptTokens: 4, completionTokens: 1 };

const { signal } = new AbortController();
const onRead = () => undefined;
let fixture: RunFixture;
beforeEach(() => {
  fixture = new RunFixture();
  chmodSync(fixture.folder, 0o755);
  mkdirSync(join(fixture.folder, 'agent'));
  copyFileSync(join(__dirname, '../../fakes/process_server.py'), join(fixture.folder, 'agent', 'server.py'));
});
afterEach(() => fixture.dispose());

/** A run whose environment is the fake's process, with two train tasks and one held-out task. */
async function prepare(variables: Record<string, string> = {}, tokens?: number) {
  const context = await fixture.prepare('http://127.0.0.1:9/v1');
  const before = await getJson(fixture.store, context.spec, preparedSpecSchema);
  const environment = environmentSchema.parse({
    ...{ kind: 'process', command: ['python3', 'server.py'], variables, maxTurns: 2, successReward: 0.5 },
    ...{ trainSeeds: { start: 0, count: 2 }, heldOutSeeds: { start: 2, count: 1 } },
  });
  const budget = tokens === undefined ? {} : { environment: { tokens } };
  const spec = { ...before.spec, environment, budget };
  const environmentPath = join(fixture.folder, 'agent', 'agent.yaml');
  const hasReferences = 'SOLUTIONS' in variables;
  const facts = { deterministic: false, hasReferences, hasDiagnostics: false, costsTokens: true };
  const prepared: PreparedSpec = {
    ...{ ...before, spec, environmentPath },
    facts: { ...facts, playable: true, trainable: false, steppable: true, packages: 'desk==1.0' },
    environmentSha256: ownerEnvironment(spec, environmentPath).sha256('desk==1.0'),
  };
  const ref = await putJson(fixture.store, layout.run(context.runId), 'spec.json', prepared);
  return { context: { ...context, spec: ref }, prepared, runId: context.runId };
}

const used = () => readEnvironmentUse(fixture.store, 'run-1');
const times = (count: number, { promptTokens, completionTokens }: typeof PLAYED) => ({
  ...{ episodes: count, unknown: 0 },
  ...{ promptTokens: count * promptTokens, completionTokens: count * completionTokens },
});
const raise = (tokens: number) => fixture.store.swapDocument(layout.budget('run-1'), { environment: { tokens } }, null);
const spent = { type: 'Budget.Spent', nonRetryable: true };

test('a profile is paid once, by the stage that needs it', async () => {
  const { context, prepared } = await prepare();
  const read = () => fixture.run(() => targetProfileReader(fixture.deps)(context, prepared, signal), null);
  await read();
  // Two train tasks and a held-out one are opened; each train task is played with its solution, which is empty, and
  // with random calls; one is played with each malformed call.
  const { sharpen } = await used();
  expect(sharpen!.unknown).toBe(0);
  const played = sharpen!.episodes - 3;
  expect(played).toBeGreaterThan(4);
  expect(sharpen).toMatchObject({
    promptTokens: 3 * DROPPED.promptTokens + played * PLAYED.promptTokens,
    completionTokens: 3 * DROPPED.completionTokens + played * PLAYED.completionTokens,
  });
  await read();
  expect(await used()).toEqual({ sharpen });
});

test('a profile waits for the budget', async () => {
  const { context, prepared } = await prepare({}, 20);
  const read = () => fixture.run(() => targetProfileReader(fixture.deps)(context, prepared, signal), null);
  await expect(read()).rejects.toMatchObject(spent);
  await raise(10_000);
  expect((await read()).train).toEqual(['Task 0', 'Task 1']);
});

test('solutions that identification plays are paid by it, each time that they are played', async () => {
  const run = await prepare({ SOLUTIONS: 'yes' });
  const player = solutionPlayer(fixture.deps);
  expect(await player.withoutTools(run, ['add'], [0, 1], signal)).toMatchObject({ tried: 2, accepted: 2 });
  expect(await used()).toEqual({ identify: times(4, PLAYED) });
  expect(await player.messages(run, [0, 1], signal)).toHaveLength(2);
  expect(await used()).toEqual({ identify: times(6, PLAYED) });
  const accepted = () => acceptedSolutions(fixture.deps, run, [0, 1], { signal, onRead });
  expect([...(await accepted()).keys()]).toEqual([0, 1]);
  expect(await used()).toEqual({ identify: times(8, PLAYED) });
});

test('solutions wait for the budget, and are no less evidence afterwards', async () => {
  const run = await prepare({ SOLUTIONS: 'yes' }, 12);
  const player = solutionPlayer(fixture.deps);
  await player.messages(run, [0], signal);
  await expect(player.withoutTools(run, ['add'], [0, 1], signal)).rejects.toMatchObject(spent);
  await expect(player.messages(run, [0], signal)).rejects.toMatchObject(spent);
  await expect(acceptedSolutions(fixture.deps, run, [0], { signal, onRead })).rejects.toMatchObject(spent);
  expect(await used()).toEqual({ identify: times(1, PLAYED) });
  await raise(1_000);
  expect(await player.withoutTools(run, ['add'], [0, 1], signal)).toMatchObject({ tried: 2, accepted: 2 });
});

test('openings for a router are paid by the evaluation, and wait for the budget', async () => {
  const capabilities = [{ id: 'adding', name: 'Adding', summary: 'adds' }];
  const router = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', {
    kind: 'mixed',
    leftOut: [],
  });
  const route = async (tokens?: number) => {
    const { context } = await prepare({}, tokens);
    const input = { context, capabilities, router, name: 'routing' };
    return fixture.run(routeTasks.bind(null, fixture.deps), input);
  };
  expect((await route()).tasks).toBe(1);
  expect(await used()).toEqual({ evaluate: times(1, DROPPED) });
  await expect(route(7)).rejects.toMatchObject(spent);
  expect(await used()).toEqual({ evaluate: times(1, DROPPED) });
});

describe('an opened environment', () => {
  const open = async (variables: Record<string, string> = {}) => {
    const { prepared, runId } = await prepare(variables);
    const payer = { store: fixture.store, runId, budget: {}, stage: 'collect' } as const;
    return fixture.deps.openEnvironment(paidBy(await readOwnerEnvironment(prepared), payer));
  };

  test('counts an episode that fails, with what it says, and not again when it is dropped', async () => {
    const environment = await open({ WAYS: JSON.stringify({ 0: 'simulator' }) });
    await environment.reset('a', 0);
    await expect(environment.say('a', 'Hello')).rejects.toMatchObject({ type: 'Sandbox.TaskFailed' });
    await environment.drop('a');
    await environment.close();
    expect(await used()).toEqual({ collect: times(1, { promptTokens: 7, completionTokens: 1 }) });
  });

  test('asks what open episodes have spent before it is closed', async () => {
    const environment = await open();
    await Promise.all([environment.reset('a', 0), environment.reset('b', 1)]);
    await environment.close();
    expect(await used()).toEqual({ collect: times(2, DROPPED) });
  });

  test('counts an episode that is lost with its process, and says that its tokens are not known', async () => {
    const environment = await open({ WAYS: JSON.stringify({ 0: 'crash' }) });
    await environment.reset('a', 0);
    await expect(environment.say('a', 'Hello')).rejects.toThrow();
    await environment.close();
    expect(await used()).toEqual({ collect: { episodes: 1, unknown: 1, promptTokens: 0, completionTokens: 0 } });
  });

  test('that no run pays for is counted by none', async () => {
    const { prepared } = await prepare();
    const environment = await fixture.deps.openEnvironment(paidBy(await readOwnerEnvironment(prepared), null));
    await environment.reset('a', 0);
    await environment.close();
    expect(await used()).toEqual({});
  });
});
