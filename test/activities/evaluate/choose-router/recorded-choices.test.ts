// tier: integration (the competition over synthetic agents whose rollouts are drawn by a hash).
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseRouter } from '../../../../activities/evaluate/choose-router';
import type { EpisodePlan } from '../../../../activities/rollout';
import { putLines } from '../../../../store';
import { RunFixture } from '../../run-fixture';
import { storedAdapter } from '../stored-adapter';
import { labelsOf, lastArm, menuAnswer, passes, tasksOf, trajectoryOf, type World, WORLDS } from './recorded-worlds';

const RECORD = join(__dirname, 'recorded-choices.json');

let world: World;
let bought: string[];

jest.mock('../../../../activities/rollout', () => ({
  ...jest.requireActual<object>('../../../../activities/rollout'),
  runDeployedRollouts: (_: unknown, __: unknown, { plans }: { plans: EpisodePlan[] }) => {
    const tasks = tasksOf(world);
    const armOf = (model: string) => (model === 'base' ? 'none' : model.split('@')[0]!);
    async function* trajectories() {
      for (const { seed, trial, model, modelAfter } of plans) {
        const [task, first] = [tasks[seed]!, armOf(model)];
        const last = armOf(lastArm(task, model, modelAfter));
        bought.push(`${seed} ${first} ${last} ${trial}`);
        yield { task: { seed, split: 'train' }, trial, model, success: passes(world, task, first, last, trial) };
      }
    }
    return Promise.resolve({ trajectories });
  },
}));
jest.mock('../../../../activities/evaluate/ask-menu', () => ({
  askMenu: () => Promise.resolve(new Map(tasksOf(world).map((task) => [task.seed, menuAnswer(world, task)]))),
}));

/** Weights are not recorded: their last digits depend on the machine, and the decisions are in the choice. */
const WEIGHTS = ['vocabulary', 'needs', 'base', 'arms'];
const rounded = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, one: unknown) => {
      if (typeof one === 'number') return Number(one.toFixed(6));
      return WEIGHTS.includes(key) ? undefined : one;
    }),
  );

/** How a world's competition ends: how the router was chosen, what it is, and what was bought. */
async function compete(one: World) {
  [world, bought] = [one, []];
  const fixture = new RunFixture();
  try {
    const context = await fixture.prepare('http://127.0.0.1:1/v1', { evaluation: one.evaluation });
    const tasks = tasksOf(one);
    const trajectories = tasks.map((task) => trajectoryOf(one, task));
    const labels = tasks.flatMap((task, place) => labelsOf(one, task, trajectories[place]!.id));
    const adapters = [];
    for (const id of one.capabilities) adapters.push(await storedAdapter(fixture, id));
    const { store } = fixture;
    const result = await fixture.run(chooseRouter.bind(null, fixture.deps), {
      context,
      adapters,
      ...(one.mixedSeveral !== undefined && { mixed: await storedAdapter(fixture, 'mixed') }),
      capabilities: one.capabilities.map((id) => ({ id, name: id, summary: id })),
      trajectories: await putLines(store, 'runs/run-1/collect', 'trajectories.jsonl', trajectories),
      labels: await putLines(store, 'runs/run-1/labels', 'labels.jsonl', labels),
    });
    const read = (key: string) => JSON.parse(readFileSync(store.localPath(key), 'utf8')) as Record<string, unknown>;
    return { choice: read(result.choice.key), router: read(result.router.key), bought: bought.length };
  } finally {
    await fixture.dispose();
  }
}

const recorded = (existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, 'utf8')) : {}) as Record<string, unknown>;

describe('the choice of the competition is the recorded one', () => {
  it.each(WORLDS.map((one): [string, World] => [one.name, one]))('%s', async (name, one) => {
    const found = rounded(await compete(one));
    // To record again after a change that is meant: WHET_RECORD=1.
    if (process.env['WHET_RECORD']) recorded[name] = found;
    expect(found).toEqual(recorded[name]);
  });

  afterAll(() => {
    if (process.env['WHET_RECORD']) writeFileSync(RECORD, `${JSON.stringify(recorded)}\n`);
  });
});
