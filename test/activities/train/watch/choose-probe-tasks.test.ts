// Tier: unit
import { chooseProbeTasks } from '../../../../activities/train/watch/choose-probe-tasks';
import type { TrainTask } from '../../../../activities/train/watch/read-train-tasks';

const OPTIONS = { seed: 1, samplesAlike: true, fewest: 10 };
const tasks = (first: number, count: number, change: (seed: number) => Partial<TrainTask> = () => ({})): TrainTask[] =>
  Array.from({ length: count }, (_, n) => first + n).map((seed) => ({
    seed,
    opening: `track order ${seed}`,
    callsFor: false,
    rollouts: [0, 1].map((trial) => ({ trial, samplingSeed: 10 * seed + trial, success: trial === 0 })),
    ...change(seed),
  }));
const called = tasks(0, 20, (seed) => ({ opening: `refund order ${seed} now`, callsFor: true }));
const seedsOf = (chosen: readonly { seed: number }[]) => chosen.map(({ seed }) => seed).sort((a, b) => a - b);

test('the groups are apart, and a task whose labels are missing is in none', () => {
  const unknown = tasks(200, 20, () => ({ callsFor: null }));
  const chosen = chooseProbeTasks([...called, ...tasks(100, 20), ...unknown], OPTIONS);
  expect(seedsOf(chosen.calledFor)).toEqual(seedsOf(called));
  expect(seedsOf(chosen.others)).toEqual(seedsOf(tasks(100, 20)));
});

test('the last trial is what the adapter is compared with, unless the trainer samples otherwise', () => {
  const of = (samplesAlike: boolean) =>
    chooseProbeTasks([...called, ...tasks(100, 20)], { ...OPTIONS, samplesAlike }).others.find(
      ({ seed }) => seed === 103,
    );
  expect(of(true)).toEqual({ seed: 103, samplingSeed: 1031, basePassed: false });
  expect(of(false)).toEqual({ seed: 103, samplingSeed: 1031, basePassed: null });
});

test('others are tasks that base passed before; the last trial decides nothing about that', () => {
  const mixed = tasks(100, 120, (seed) => ({
    rollouts: [0, 1].map((trial) => ({ trial, samplingSeed: trial, success: (seed + trial) % 2 === 0 })),
  }));
  const { others } = chooseProbeTasks([...called, ...mixed], OPTIONS);
  expect(seedsOf(others)).toEqual(seedsOf(mixed).filter((seed) => seed % 2 === 0));
});

test('a task whose other trials failed shows no pass before', () => {
  const gaps = tasks(100, 120, (seed) => ({
    rollouts: (seed % 2 === 0 ? [0, 1] : [1]).map((trial) => ({ trial, samplingSeed: trial, success: true })),
  }));
  const { others } = chooseProbeTasks([...called, ...gaps], OPTIONS);
  expect(seedsOf(others)).toEqual(seedsOf(gaps).filter((seed) => seed % 2 === 0));
});

test('where base passes few, probes take those that it passed oftenest', () => {
  const weak = tasks(100, 60, (seed) => ({
    rollouts: [0, 1, 2].map((trial) => ({ trial, samplingSeed: trial, success: trial === 0 && seed < 140 })),
  }));
  expect(seedsOf(chooseProbeTasks(weak, OPTIONS).others)).toEqual(seedsOf(weak).slice(0, 40));
});

test('every second of the others has an opening like those that call for the capability', () => {
  const near = tasks(100, 20, (seed) => ({ opening: `refund order ${seed} tomorrow` }));
  const { others } = chooseProbeTasks([...called, ...near, ...tasks(300, 60)], OPTIONS);
  expect(others.slice(0, 40).map(({ seed }) => seed < 200)).toEqual(Array.from({ length: 40 }, (_, n) => n % 2 === 0));
});

test('a group of few tasks is left out, and one of many is cut', () => {
  const chosen = chooseProbeTasks([...called.slice(0, 9), ...tasks(100, 600)], OPTIONS);
  expect(chosen.calledFor).toEqual([]);
  expect(chosen.others).toHaveLength(400);
});

test('the order depends on the seed of the run and on nothing else', () => {
  const all = [...called, ...tasks(100, 50)];
  const chosen = chooseProbeTasks(all, OPTIONS);
  expect(chooseProbeTasks([...all].reverse(), OPTIONS)).toEqual(chosen);
  expect(chooseProbeTasks(all, { ...OPTIONS, seed: 2 })).not.toEqual(chosen);
});
