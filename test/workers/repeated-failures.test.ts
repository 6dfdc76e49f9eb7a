// Tier: unit.
import { hasGotOn, isReported } from '../../workers/repeated-failures';

test('an activity that fails again and again is reported ever more rarely', () => {
  const reported = Array.from({ length: 200 }, (_, i) => i + 1).filter(isReported);
  expect(reported).toEqual([8, 16, 32, 64, 128, 192]);
});

test('a late attempt that lasted ten minutes got on; a quick one, and what is not reported yet, did not', () => {
  expect(hasGotOn(9, 10 * 60_000)).toBe(true);
  expect(hasGotOn(9, 9 * 60_000)).toBe(false);
  expect(hasGotOn(7, 3_600_000)).toBe(false);
});
