// Tier: integration (a store, no trainer).
import { readFileSync } from 'node:fs';
import { planWatch } from '../../../../activities/train/watch/plan-watch';
import type { ConsensusLabel, Label } from '../../../../contracts/artifacts/identification';
import { type PreparedSpec, preparedSpecSchema } from '../../../../contracts/artifacts/prepared-spec';
import type { Trajectory } from '../../../../contracts/artifacts/trajectory';
import type { AgentSpecInput } from '../../../../contracts/config/agent-spec';
import { PROGRAM_FACTS } from '../../../../contracts/config/environment-kinds/facts';
import { getJson, putLines } from '../../../../store';
import { fixture, RunFixture } from '../../run-fixture';

const id = (seed: number, trial: number): string => `${seed}${trial}`.padStart(64, '0');

function trajectory(seed: number, trial: number, change: Partial<Trajectory> = {}): Trajectory {
  const success = (seed + trial) % 2 === 0;
  const call = {
    id: 'call_0_0',
    type: 'function' as const,
    function: { name: 'find', arguments: `{"parcel":${seed}}` },
  };
  return {
    ...{ id: id(seed, trial), task: { seed, split: 'train' }, trial, model: 'base', samplingSeed: 100 * seed + trial },
    messages: [
      { role: 'user', content: `parcel ${seed}` },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', content: 'shelf 3', tool_call_id: 'call_0_0' },
      { role: 'assistant', content: 'It is on shelf 3.' },
    ],
    ...{ reward: success ? 1 : 0.25, success, finish: 'done', steps: 1, tags: [], diagnostics: {} },
    usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
    ...change,
  };
}

describe('planWatch', () => {
  const run = new RunFixture();
  afterAll(() => run.dispose());

  const label = (seed: number, trial: number, value: Label | null): ConsensusLabel => ({
    ...{ trajectoryId: id(seed, trial), capabilityId: 'stamps', label: value },
    ...{ step: null, reason: 'r', votes: { NA: 0, PRESENT: 0, LACKING: 0 } },
  });

  async function plan(
    spec: Partial<AgentSpecInput> = {},
    made: { trajectories?: Trajectory[]; labelOf?: (seed: number, trial: number) => Label | null } = {},
    change: Partial<PreparedSpec> = {},
  ) {
    const context = await run.prepare('http://127.0.0.1:9/v1', spec);
    const prepared = { ...(await getJson(run.store, context.spec, preparedSpecSchema)), ...change };
    const { labelOf = (seed, trial) => (seed < 12 && trial === 1 ? 'LACKING' : 'NA') } = made;
    const all = Array.from({ length: 30 }, (_, seed) => [trajectory(seed, 0), trajectory(seed, 1)]).flat();
    const trajectories = made.trajectories ?? all;
    const evidence = {
      trajectories: await putLines(run.store, 'runs/run-1/t', 't.jsonl', trajectories),
      labels: await putLines(
        run.store,
        'runs/run-1/l',
        'l.jsonl',
        all.map(({ task, trial }) => label(task.seed, trial, labelOf(task.seed, trial))),
      ),
    };
    const source = await run.store.put('runs/run-1', 'e.py', '');
    return planWatch(
      run.store,
      prepared,
      { context, environments: [{ id: 'stamps', source }], evidence },
      '/job/_agent.py',
    );
  }

  test('an environment that no trainer plays has no probes, and the reason is told', async () => {
    const { fields, source } = await plan({}, {}, { facts: PROGRAM_FACTS });
    expect(fields).toEqual({ unwatched: expect.stringContaining('which no trainer plays') });
    expect(source).toBeUndefined();
  });

  test('the agent travels with its tasks, and with episodes that the trainer repeats', async () => {
    const { fields, source } = await plan();
    expect(source).toEqual(readFileSync(fixture('parcel_desk.py')));
    const { watch } = fields;
    expect(watch).toMatchObject({
      environment: { id: 'parcels', path: '/job/_agent.py' },
      ...{ temperature: 1, maxTurns: 4, successReward: 1 },
    });
    // Any trial that calls for the capability makes its task call for it.
    expect(watch?.calledFor.map(({ seed }) => seed).sort((a, b) => a - b)).toEqual([...Array(12).keys()]);
    expect(watch?.others).toHaveLength(18);
    expect(watch?.calledFor.find(({ seed }) => seed === 3)).toEqual({ seed: 3, samplingSeed: 301, basePassed: true });
    expect(watch?.recorded.map(({ reward }) => reward)).toEqual([1, 1, 1, 1, 0.25, 0.25, 0.25, 0.25]);
    expect(watch?.recorded[0]).toMatchObject({
      seed: 0,
      steps: [{ calls: [{ name: 'find', arguments: { parcel: 0 } }] }, { text: 'It is on shelf 3.' }],
    });
  });

  test.each<[string, Partial<AgentSpecInput>]>([
    ['another server', { model: { name: 'base', baseUrl: 'http://127.0.0.1:9/v1' } }],
    ['vLLM', { training: { sampler: 'managed' } }],
  ])('with %s the trainer plays the base model itself', async (_, spec) => {
    expect((await plan(spec)).fields.watch?.calledFor.every(({ basePassed }) => basePassed === null)).toBe(true);
  });

  test('held-out tasks, live traffic, other models and unanswered episodes are never used', async () => {
    const others: Partial<Trajectory>[] = [
      { task: { seed: 1000, split: 'held-out' } },
      { task: { seed: 1001, split: 'live' } },
      { task: { seed: 1002, split: 'train' }, model: 'stamps@1' },
      { task: { seed: 1003, split: 'train' }, finish: 'refused' },
    ];
    const kept = Array.from({ length: 30 }, (_, seed) => trajectory(seed, 0));
    const trajectories = [...kept, ...others.map((change) => trajectory(40, 0, change))];
    const { watch } = (await plan({}, { trajectories, labelOf: (seed) => (seed < 12 ? 'PRESENT' : 'NA') })).fields;
    expect(Math.max(...[...watch!.calledFor, ...watch!.others].map(({ seed }) => seed))).toBe(29);
  });

  test('without labels nothing is watched, and it says why', async () => {
    expect((await plan({}, { labelOf: () => null })).fields).toEqual({
      unwatched: expect.stringMatching(/^fewer than 10 train tasks call for the capability, and fewer than 10 do not/),
    });
  });

  test('nothing is planned where no probes are wanted', async () => {
    expect(await plan({ training: { probeEvery: 0 } })).toEqual({ fields: {} });
  });

  test('an environment that has changed since the run began is not sent', async () => {
    await expect(plan({}, {}, { environmentSha256: '0'.repeat(64) })).rejects.toMatchObject({
      type: 'Environment.Failed',
    });
  });
});
