// tier: unit
import { adviceIn } from './advice';

test('a user does what a reason says, a repair first', () => {
  expect(adviceIn('It waits. Then: whet retry run-1 stamps, or whet skip run-1 stamps', 'run-1')).toEqual([
    'retry',
    'run-1',
    'stamps',
  ]);
  expect(adviceIn('`whet repair RUN` makes it again. Then: whet retry run-1', 'run-1')).toEqual(['repair', 'run-1']);
  expect(adviceIn('Allow it: whet repair run-1 --yes. They count.', 'run-1')).toEqual(['repair', 'run-1', '--yes']);
  expect(adviceIn('whet retry run-1 sends what is missing', 'run-1')).toEqual(['retry', 'run-1']);
  expect(adviceIn('It waits for nobody knows what.', 'run-1')).toEqual(['retry', 'run-1']);
});
