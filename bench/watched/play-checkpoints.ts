/** Plays the demo agent's held-out tasks with the checkpoints of trainings. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { trainedModelPath } from '../../activities/base-model';
import { samplingSeed } from '../../activities/rollout';
import { deployedSettings } from '../../activities/rollout/episode';
import { projectRoot } from '../../contracts/project-root';
import type { LabelledDesk } from '../shared/labelled-desk';
import { benchOutput } from './python';

/** Tasks with their tags. */
export interface Tasks {
  seeds: readonly number[];
  tags: readonly (readonly string[])[];
}

/** Seeds that are looked through for tasks that call for a capability. */
const SEARCHED = 1500;

let plans = 0;

/** Passes (1) and failures (0) of each adapter, task and trial; null is the base model. */
export async function playCheckpoints(
  desk: LabelledDesk,
  seeds: readonly number[],
  trials: number,
  adapters: readonly (string | null)[],
): Promise<number[][][]> {
  return (await play(desk, seeds, trials, adapters)).passes;
}

/** The first `count` held-out tasks, and for each capability as many that call for it, from the same seed on. */
export async function heldOutTasks(
  desk: LabelledDesk,
  count: number,
): Promise<{ mixture: Tasks; callingFor: (capability: string) => Tasks }> {
  const { start } = desk.prepared.spec.environment.heldOutSeeds;
  const seeds = Array.from({ length: Math.max(SEARCHED, count) }, (_, n) => start + n);
  const { tags } = await play(desk, seeds, 0, []);
  const tasksAt = (places: readonly number[]): Tasks => ({
    seeds: places.map((place) => seeds[place]!),
    tags: places.map((place) => tags[place]!),
  });
  const places = seeds.map((_, place) => place);
  return {
    mixture: tasksAt(places.slice(0, count)),
    callingFor: (capability) => tasksAt(places.filter((place) => tags[place]!.includes(capability)).slice(0, count)),
  };
}

async function play(
  { prepared, store, context }: LabelledDesk,
  seeds: readonly number[],
  trials: number,
  adapters: readonly (string | null)[],
): Promise<{ tags: string[][]; passes: number[][][] }> {
  const { temperature, maxTurns, maxCompletionTokens, successReward } = deployedSettings(prepared.spec);
  const plan = {
    ...{ model: trainedModelPath(prepared), environment: prepared.environmentPath, isolation: 'jail', threads: 1 },
    ...{ jailProfile: join(projectRoot(), 'sandbox', 'profile.json') },
    ...{ temperature, maxTurns, maxCompletionTokens, successReward, adapters },
    tasks: seeds.map((seed) => ({
      seed,
      samplingSeeds: Array.from({ length: trials }, (_, trial) => samplingSeed(context.seed, seed, trial)),
    })),
  };
  const path = join(store.localPath('.'), `plan-${++plans}.json`);
  await writeFile(path, JSON.stringify(plan));
  return JSON.parse(await benchOutput('play_checkpoints.py', [path])) as { tags: string[][]; passes: number[][][] };
}
