// Tier: unit.
import { hasGotOn, isReported, SameFailures } from '../../workers/repeated-failures';

test('an activity that fails again and again is reported ever more rarely', () => {
  const reported = Array.from({ length: 200 }, (_, i) => i + 1).filter(isReported);
  expect(reported).toEqual([8, 16, 32, 64, 128, 192]);
});

test('a late attempt that lasted ten minutes got on; a quick one, and what is not reported yet, did not', () => {
  expect(hasGotOn(9, 10 * 60_000)).toBe(true);
  expect(hasGotOn(9, 9 * 60_000)).toBe(false);
  expect(hasGotOn(7, 3_600_000)).toBe(false);
});

test('the same failure is counted as long as no other one comes, and none is remembered for ever', () => {
  const same = new SameFailures();
  const count = (...reasons: string[]) => reasons.map((reason) => same.count('a', reason));
  expect(count('x', 'x', 'x', 'y', 'x', 'x')).toEqual([1, 2, 3, 1, 1, 2]);
  expect(same.count('b', 'x')).toBe(1);
  same.forget('a');
  expect(count('x', 'x')).toEqual([1, 2]);
  for (let i = 0; i < 1_000; i++) same.count(`${i}`, 'x');
  expect(count('x')).toEqual([1]);
});
