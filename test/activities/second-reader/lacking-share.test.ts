import { compareLacking } from '../../../activities/second-reader/lacking-share';
import type { ReadRollout } from '../../../activities/second-reader/judge-reading';

const rollouts = (count: number, label: ReadRollout['label'], paid: boolean): ReadRollout[] =>
  Array.from({ length: count }, (_, index) => ({ source: 'base', label, paid, seed: index }) as ReadRollout);

const TARGET = { lacking: 40, present: 60 };

test.each([
  ['all lack it, most of the weight on those that do not call for it', 0.9, 1],
  ['all lack it', 0.1, 1],
])('%s: the interval reaches the estimate', (_, paidShare, estimate) => {
  const read = [...rollouts(12, 'NA', true), ...rollouts(2, 'LACKING', false), ...rollouts(8, 'NA', false)];
  const { here } = compareLacking(read, paidShare, TARGET);
  expect(here!.estimate).toBe(estimate);
  expect(here!.high).toBe(1);
  expect(here!.low).toBeLessThan(0.7);
});

test('none lacks it: the interval begins at 0, and it is said to lack it less', () => {
  const read = [...rollouts(20, 'PRESENT', true), ...rollouts(20, 'PRESENT', false)];
  const { here, isLess } = compareLacking(read, 0.5, TARGET);
  expect(here).toMatchObject({ estimate: 0, low: 0 });
  expect(here!.high).toBeLessThan(0.2);
  expect(isLess).toBe(true);
});
