// Tier: unit.
import { isReported } from '../../workers/repeated-failures';

test('an activity that fails again and again is reported ever more rarely', () => {
  const reported = Array.from({ length: 200 }, (_, i) => i + 1).filter(isReported);
  expect(reported).toEqual([8, 16, 32, 64, 128, 192]);
});
