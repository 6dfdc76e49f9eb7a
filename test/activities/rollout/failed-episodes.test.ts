// tier: integration (real environment runtime, fake model server)
import { readFileSync } from 'node:fs';
import { collectTrajectories } from '../../../activities/collect';
import { rollOutArm } from '../../../activities/evaluate/roll-out-arm';
import { routeTasks } from '../../../activities/evaluate/route-tasks';
import { runModel } from '../../../activities/endpoints/run-model';
import { readPreparedSpec } from '../../../activities/prepared-spec';
import { runDeployedRollouts, runRollouts } from '../../../activities/rollout';
import type { DeployedRollouts } from '../../../activities/rollout/deployed-rollouts';
import type { RolloutOptions } from '../../../activities/rollout/run-rollouts';
import { FinishedEpisodes } from '../../../activities/rollout/finished-episodes';
import { routingRecordSchema } from '../../../contracts/artifacts/evaluation';
import { type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { getLines, putJson } from '../../../store';
import { type Attempt, failingEnvironment, type TaskFailure } from '../../fakes/failing-environment';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';
import { RunFixture } from '../run-fixture';

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

/** Collects 20 tasks with 2 trials each, with these failures. */
async function collect(fails: (attempt: Attempt) => TaskFailure | null, runId = 'run-1') {
  const failing = failingEnvironment(fixture.deps.openEnvironment, fails);
  const context = await fixture.prepare(server.baseUrl, spec, undefined, runId);
  const deps = { ...fixture.deps, openEnvironment: failing.open };
  const summary = () => fixture.run(collectTrajectories.bind(null, deps), context);
  return { summary, attempts: failing.attempts };
}
const read = (ref: Parameters<typeof getLines>[1]) => getLines(fixture.store, ref, trajectorySchema);
const judge = (seeds: readonly number[]) => (attempt: Attempt) =>
  seeds.includes(attempt.seed) ? { at: 'evaluate' as const, cause: 'judge' } : null;

test('an episode that fails in every try has no result, and the others have theirs', async () => {
  const { summary, attempts } = await collect(({ seed, trial }) =>
    seed === 3
      ? { at: 'evaluate', cause: 'judge' }
      : seed === 7 && trial === 1
        ? { at: 'step', cause: 'simulator' }
        : null,
  );
  const collected = await summary();
  expect(collected).toMatchObject({
    ...{ episodes: 40, failed: { judge: 2, simulator: 1 } },
    failedTasks: ['3', '7'],
  });
  expect(collected.successes + collected.failures).toBe(37);
  const played = await read(collected.trajectories);
  expect(played).toHaveLength(37);
  expect(played.some(({ task, trial }) => task.seed === 3 || (task.seed === 7 && trial === 1))).toBe(false);
  const failed = await read(collected.failedTrajectories!);
  expect(failed.map(({ task, finish, failedBecause, success }) => [task.seed, finish, failedBecause, success])).toEqual(
    [
      [3, 'failed', 'judge', false],
      [3, 'failed', 'judge', false],
      [7, 'failed', 'simulator', false],
    ],
  );
  // What was said before it failed is kept.
  for (const { messages } of failed) expect(messages.some(({ role }) => role === 'assistant')).toBe(true);
  expect(
    attempts
      .filter(({ seed }) => seed === 3)
      .map(({ tries }) => tries)
      .sort(),
  ).toEqual([1, 1, 2, 2, 3, 3]);
  expect(attempts.filter(({ seed }) => seed === 4)).toHaveLength(2);
});

test('an episode that fails twice and is then played leaves the same bytes as one that never failed', async () => {
  const quiet = await (await collect(() => null)).summary();
  const { summary } = await collect(
    ({ seed, tries }) => (seed % 5 === 0 && tries < 3 ? { at: 'evaluate', cause: 'judge' } : null),
    'run-2',
  );
  const troubled = await summary();
  expect(troubled.trajectories.sha256).toBe(quiet.trajectories.sha256);
  expect([troubled.failed, troubled.failedTrajectories, troubled.episodes]).toEqual([undefined, undefined, 40]);
  // The model was asked in those tries, too: 8 of 40 episodes were played three times.
  expect(troubled.promptTokens).toBeGreaterThan(quiet.promptTokens);
});

test('where most fail, the stage waits with counts, begins no further episodes, and plays them again', async () => {
  let isDown = true;
  const { summary, attempts } = await collect(() => (isDown ? { at: 'reset', cause: 'simulator' } : null));
  const failed = summary();
  await expect(failed).rejects.toMatchObject({ type: 'Environment.TasksFail', nonRetryable: true });
  await expect(failed).rejects.toThrow(
    /2\d of 40 episodes have no result: 2\d failed \(2\d simulator\), each after 3 tries\..*did not answer/,
  );
  expect(attempts.length).toBeLessThan(120);
  expect(fixture.heartbeats.at(-1)!.note).toMatch(/2\d failed \(2\d simulator\)/);
  isDown = false;
  const collected = await summary();
  expect([collected.episodes, collected.failed]).toEqual([40, undefined]);
});

test('no more than half: the stage ends, and its count is in the note of its progress', async () => {
  const { summary } = await collect(judge([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
  expect(await summary()).toMatchObject({ episodes: 40, failed: { judge: 20 } });
  expect(fixture.heartbeats.map(({ note }) => note)).toContainEqual(
    expect.stringMatching(/^20 failed \(20 judge\), the last: .*did not answer/),
  );
});

test.each([
  [20, null],
  [19, 'Environment.TasksFail'],
])('a part of a stage may lose most of its episodes, if these are at most %d', async (mayFail, type) => {
  const failing = failingEnvironment(fixture.deps.openEnvironment, judge(Array.from({ length: 20 }, (_, i) => i)));
  const prepared = await readPreparedSpec(fixture.store, (await fixture.prepare(server.baseUrl, spec)).spec);
  const played = fixture.run(
    (plans: DeployedRollouts['plans']) =>
      runDeployedRollouts({ ...fixture.deps, openEnvironment: failing.open }, prepared, {
        ...{ runId: 'run-1', plans, concurrency: 8, workKey: 'runs/run-1/work/part.jsonl', stage: 'evaluate', mayFail },
      }),
    Array.from({ length: 22 }, (_, seed) => ({
      ...{ seed, split: 'train' as const, trial: 0, model: 'base', samplingSeed: seed },
    })),
  );
  if (type === null) expect((await played).failed!.byCause).toEqual({ judge: 20 });
  else await expect(played).rejects.toMatchObject({ type });
});

test('the tries are counted over the attempts of the activity', async () => {
  const key = 'runs/a/work/collect.jsonl';
  const open = () => fixture.run((name: string) => FinishedEpisodes.open(fixture.store, name), key);
  const failed: Trajectory = { ...syntheticEpisode(1), finish: 'failed', failedBecause: 'judge', success: false };
  const states: [boolean, number][] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const work = await open();
    await work.add(failed, null, 1);
    states.push([work.has({ seed: 1, trial: 0 }), work.size]);
    await work.close();
  }
  expect(states).toEqual([
    [false, 0],
    [false, 0],
    [true, 1],
  ]);
  const work = await open();
  expect(work.failedByCause).toEqual({ judge: 1 });
  expect(await work.failedUsage()).toEqual({ promptTokens: 3, completionTokens: 3 });
  work.playAgain(work.failed);
  expect([work.has({ seed: 1, trial: 0 }), work.failedByCause]).toEqual([false, {}]);
  await work.add(syntheticEpisode(1), null, 2);
  expect([work.has({ seed: 1, trial: 0 }), work.failedByCause]).toEqual([true, {}]);
  await work.close();
});

test('a generated environment cannot declare that its tasks failed', async () => {
  const failing = failingEnvironment(fixture.deps.openEnvironment, judge([0]));
  const context = await fixture.prepare(server.baseUrl, spec);
  const prepared = await readPreparedSpec(fixture.store, context.spec);
  const options: RolloutOptions = {
    plans: [0, 1].map((seed) => ({ seed, split: 'synthetic', trial: 0, model: 'base', samplingSeed: 1 })),
    environment: { source: readFileSync(prepared.environmentPath, 'utf8'), trust: 'synthesised', name: 'parcels' },
    settings: { temperature: 0, maxTurns: 4, maxCompletionTokens: 64, successReward: 1 },
    model: runModel(prepared, fixture.deps.endpoints),
    ...{ adapters: [], concurrency: 2, workKey: 'runs/run-1/work/generated.jsonl', stage: 'sharpen' },
  };
  const finished = await fixture.run(
    (given: RolloutOptions) => runRollouts({ ...fixture.deps, openEnvironment: failing.open }, given),
    options,
  );
  const finishes: string[] = [];
  for await (const { finish } of finished.trajectories()) finishes.push(finish);
  expect(finishes[0]).toBe('environment-error');
  expect(finished.failed!.byCause).toEqual({});
  expect(failing.attempts.filter(({ seed }) => seed === 0)).toHaveLength(1);
});

describe('tasks that are routed', () => {
  const heldOut = (fails: (attempt: Attempt) => TaskFailure | null) => {
    const failing = failingEnvironment(fixture.deps.openEnvironment, fails);
    return { deps: { ...fixture.deps, openEnvironment: failing.open }, attempts: failing.attempts };
  };
  const route = async (deps: typeof fixture.deps) => {
    const context = await fixture.prepare(server.baseUrl, { evaluation: { trials: 2, concurrency: 4 } });
    const router = await putJson(fixture.store, 'runs/run-1/evaluation', 'router.json', { kind: 'base', leftOut: [] });
    const input = { context, capabilities: [], router, name: 'routing' };
    return { context, routed: () => fixture.run(routeTasks.bind(null, deps), input) };
  };

  test('an opening is tried three times; without one the routed arm leaves the task out and counts it', async () => {
    const { deps, attempts } = heldOut(({ seed, trial, tries }) =>
      trial === null && (seed === 1004 || (seed === 1005 && tries < 3)) ? { at: 'reset', cause: 'simulator' } : null,
    );
    const { context, routed } = await route(deps);
    const { routing, tasks } = await routed();
    expect(tasks).toBe(10);
    const records = await getLines(fixture.store, routing, routingRecordSchema);
    expect(records.filter(({ failedBecause }) => failedBecause).map(({ seed }) => seed)).toEqual([1004]);
    expect(attempts.filter(({ seed }) => seed === 1004)).toHaveLength(3);
    const arm = { context, arm: 'routed', kind: 'routed' as const, adapters: [], routing };
    const { rollouts } = await fixture.run(rollOutArm.bind(null, deps), arm);
    expect(rollouts).toMatchObject({ episodes: 20, failed: { simulator: 2 } });
    expect((await read(rollouts.trajectories)).some(({ task }) => task.seed === 1004)).toBe(false);
  });

  test('where most openings fail, the stage waits', async () => {
    const { deps } = heldOut(({ seed }) => (seed < 1006 ? { at: 'reset', cause: 'simulator' } : null));
    const failed = (await route(deps)).routed();
    await expect(failed).rejects.toMatchObject({ type: 'Environment.TasksFail', nonRetryable: true });
    await expect(failed).rejects.toThrow(/Of 10 tasks that were opened, 6 failed \(6 simulator\), each after 3 tries/);
  });
});
