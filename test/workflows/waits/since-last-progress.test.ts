// tier: unit
import { sinceLastProgress } from '../../../workflows/waits/since-last-progress';

const status = { key: 'collectTrajectories', attempts: 8, sinceMs: 100, reason: 'down', gotOn: false };

test('an activity gets nowhere since its first report, until an attempt got on', () => {
  const first = { ...status, stillSinceMs: sinceLastProgress(undefined, status, 5_000) };
  expect(first.stillSinceMs).toBe(5_000);
  expect(sinceLastProgress(first, { ...status, attempts: 16 }, 9_000)).toBe(5_000);
  expect(sinceLastProgress(first, { ...status, attempts: 17, gotOn: true }, 9_500)).toBe(9_500);
});

test('another activity of the same key begins anew', () => {
  expect(sinceLastProgress({ ...status, stillSinceMs: 5_000 }, { ...status, sinceMs: 7_000 }, 9_000)).toBe(9_000);
});
