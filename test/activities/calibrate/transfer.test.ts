// Tier: unit.
import {
  concordance,
  estimateTransfer,
  spearman,
  type TaskSuccess,
  transferOf,
} from '../../../activities/calibrate/transfer';
import type { ConsensusLabel } from '../../../contracts/artifacts/identification';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { putLines } from '../../../store';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';
import { RunFixture } from '../run-fixture';

const EASY = 'refund an order that was sent to the right house'.split(' ');
const HARD = 'merge three invoices into one and split its tax'.split(' ');
const tasks = (count: number, easy: number, hard: number): TaskSuccess[] =>
  Array.from({ length: count }, (_, i) => {
    const words = i % 2 === 0 ? EASY : HARD;
    return { opening: `${words.slice(0, 4 + (i % 5)).join(' ')} number ${i}`, success: i % 2 === 0 ? easy : hard };
  });

test("an environment whose hard tasks look like the agent's hard tasks discriminates", () => {
  const { discrimination, rankCorrelation, detail } = transferOf(tasks(40, 0.8, 0.1), tasks(60, 0.9, 0.2), 1);
  expect(discrimination!.estimate).toBeGreaterThan(0.95);
  expect(discrimination!.low).toBeGreaterThan(0.5);
  expect(rankCorrelation!.estimate).toBeGreaterThan(0.7);
  expect(detail).toContain('a task that is hard here is hard there');
});

test('one that is as hard everywhere tells nothing, and says so', () => {
  const { discrimination, detail } = transferOf(tasks(40, 0.5, 0.5), tasks(60, 0.9, 0.2), 1);
  expect(discrimination!.estimate).toBe(0.5);
  expect(detail).toContain('these tasks do not show');
});

test('too few tasks, or tasks that all end alike, give no figure', () => {
  expect(transferOf(tasks(40, 0.8, 0.1), tasks(6, 1, 0), 1)).toMatchObject({ tasks: 6, discrimination: null });
  expect(transferOf(tasks(40, 0.8, 0.1), tasks(60, 0.3, 0.3), 1)).toMatchObject({
    discrimination: null,
    rankCorrelation: null,
  });
});

test('the figures are those of the textbook', () => {
  const pairs = [
    { observed: 0, predicted: 0.1 },
    { observed: 0.5, predicted: 0.3 },
    { observed: 1, predicted: 0.2 },
  ];
  expect(concordance(pairs)).toBeCloseTo(2 / 3, 12);
  expect(spearman(pairs)).toBeCloseTo(0.5, 12);
});

describe('from trajectories and labels', () => {
  const fixture = new RunFixture();
  afterAll(() => fixture.dispose());

  /**
   * Trial `trial` of a task whose opening is of the easy or the hard kind; the easy ones succeed in three of four
   * trials, the hard ones in one.
   */
  const episode = (seed: number, trial: number, split: Trajectory['task']['split']): Trajectory => {
    const isEasy = seed % 2 === 0;
    const { messages, ...rest } = syntheticEpisode(4 * seed + trial);
    const opening = { role: 'user' as const, content: `${(isEasy ? EASY : HARD).join(' ')} number ${seed}` };
    const success = trial < (isEasy ? 3 : 1);
    return {
      ...rest,
      task: { seed, split },
      trial,
      messages: [messages[0]!, opening],
      reward: success ? 0.9 : 0.5,
      success,
    };
  };
  const trials = (seeds: readonly number[], split: Trajectory['task']['split']) =>
    seeds.flatMap((seed) => [0, 1, 2, 3].map((trial) => episode(seed, trial, split)));
  const range = (start: number, count: number) => Array.from({ length: count }, (_, i) => start + i);
  const capability = { id: 'refunds', name: 'Refunds', summary: 'refunds' };

  const estimate = async (
    target: readonly Trajectory[],
    labels: readonly ConsensusLabel[],
    signal = new AbortController().signal,
  ) => {
    const refs = {
      trajectories: await putLines(fixture.store, 'runs/run-1/trajectories', 'collected.jsonl', target),
      labels: await putLines(fixture.store, 'runs/run-1/labels', 'labels.jsonl', labels),
    };
    const context = await fixture.prepare('http://127.0.0.1:9/v1');
    return estimateTransfer(
      fixture.store,
      { ...refs, capability, context },
      trials(range(0, 30), 'synthetic'),
      0.9,
      signal,
    );
  };
  const labelOf = ({ id }: Trajectory, label: ConsensusLabel['label'], capabilityId = 'refunds'): ConsensusLabel => ({
    trajectoryId: id,
    capabilityId,
    label,
    step: null,
    reason: 'r',
    votes: { NA: 0, PRESENT: 1, LACKING: 0 },
  });

  test('tasks with a labelled trajectory count, with all of theirs that are labelled; the others do not', async () => {
    const train = trials(range(100, 14), 'train');
    const live = trials(range(300, 2), 'live');
    const elsewhere = trials(range(200, 20), 'train');
    const found = await estimate(
      [...train, ...live, ...elsewhere],
      [
        ...[...train, ...live].map((trajectory, index) => labelOf(trajectory, index % 2 === 0 ? 'PRESENT' : 'LACKING')),
        ...elsewhere.map((trajectory, index) =>
          index % 2 === 0 ? labelOf(trajectory, 'NA') : labelOf(trajectory, 'LACKING', 'other'),
        ),
      ],
    );
    expect(found).toMatchObject({ tasks: 16, discrimination: { estimate: 1, low: 1, high: 1 } });
    expect(found!.rankCorrelation!.estimate).toBeGreaterThan(0.8);
    expect(found!.detail).toContain("Of two of the agent's 16 tasks that need the capability");
  });

  test('a cancellation ends the reading', async () => {
    await expect(estimate(trials([1], 'train'), [], AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });
});
