// tier: integration
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { FinishedEpisodes } from '../../../activities/rollout/finished-episodes';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';
import { temporaryStore } from '../../store/temporary-store';

const { store } = temporaryStore();
const open = (key: string): Promise<FinishedEpisodes> =>
  new MockActivityEnvironment().run(() => FinishedEpisodes.open(store, key));

async function seedsOf(work: FinishedEpisodes): Promise<number[]> {
  const seeds: number[] = [];
  for await (const { task } of work.trajectories()) seeds.push(task.seed);
  return seeds;
}

test('gives the episodes of all attempts in the order of their seeds; of one played twice, the last', async () => {
  const key = 'runs/a/work/collect.jsonl';
  const first = await open(key);
  for (const seed of [5, 1, 3]) await first.add(syntheticEpisode(seed), seed === 3 ? 'It raised.' : null, seed);
  await first.close();
  const second = await open(key);
  expect([second.size, second.secondsBefore, second.damagedLines]).toEqual([3, 5, 0]);
  const again: Trajectory = { ...syntheticEpisode(1), samplingSeed: 77 };
  await second.add(syntheticEpisode(2), null, 6);
  await second.add(again, null, 7);
  expect(await seedsOf(second)).toEqual([1, 2, 3, 5]);
  for await (const { task, samplingSeed } of second.trajectories()) if (task.seed === 1) expect(samplingSeed).toBe(77);
  expect(second.faults).toEqual([{ seed: 3, trial: 0, sentence: 'It raised.', lost: false }]);
  await second.close();
});

test('counts the damaged lines of earlier attempts; their episodes are not finished', async () => {
  const key = 'runs/b/work/collect.jsonl';
  const work = await open(key);
  for (const seed of [1, 2, 3]) await work.add(syntheticEpisode(seed), null, 1);
  await work.close();
  const path = store.localPath(key);
  const lines = readFileSync(path, 'utf8').split('\n');
  lines[1] = lines[1]!.slice(0, 40);
  writeFileSync(path, lines.join('\n'));
  appendFileSync(path, 'torn');
  const next = await open(key);
  expect([next.size, next.has({ seed: 2, trial: 0 }), next.damagedLines]).toEqual([2, false, 1]);
  await next.add(syntheticEpisode(2), null, 2);
  expect(await seedsOf(next)).toEqual([1, 2, 3]);
  await next.close();
});

test('reads each line from the file when it is wanted, and holds none', async () => {
  const key = 'runs/c/work/collect.jsonl';
  const work = await open(key);
  for (const seed of [1, 2]) await work.add(syntheticEpisode(seed), null, 1);
  expect(JSON.stringify(work)).not.toContain('You are a test agent');
  const trajectories = work.trajectories();
  expect((await trajectories.next()).value).toEqual(syntheticEpisode(1));
  const path = store.localPath(key);
  writeFileSync(path, readFileSync(path, 'utf8').replace('"seed":2', '"seed":x'));
  await expect(trajectories.next()).rejects.toThrow('seed 2, trial 0');
  await work.close();
});
