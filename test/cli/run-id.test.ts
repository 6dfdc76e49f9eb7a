// tier: unit
import { newRunId } from '../../cli/run-id';

test('run ids sort by time and name the agent', () => {
  expect(newRunId('orders-desk', new Date('2026-11-21T02:03:04.567Z'))).toMatch(
    /^run-orders-desk-20261121-020304-[0-9a-f]{4}$/,
  );
});
