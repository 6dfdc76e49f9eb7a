// tier: unit
import type { RepeatedFailure, RunWait } from '../../../contracts/messages/run';
import { firstDue, sinceLastProgress } from '../../../workflows/waits/wait-deadlines';

const DEADLINES = { approvalMs: 1_000, holdMs: 100 };
const failure = { key: 'collectTrajectories', attempts: 8, sinceMs: 0, reason: 'down', gotOn: false };
const due = (waits: readonly RunWait[], failing: readonly RepeatedFailure[]) =>
  firstDue({ deadlines: () => DEADLINES, waits: () => waits, failing: () => failing })?.atMs;

test('what fails again and again is overdue from when its attempts began to get nowhere', () => {
  expect(due([], [{ ...failure, stillSinceMs: 5_000 }])).toBe(5_100);
});

test('a wait is overdue from its beginning, an approval by its own deadline', () => {
  const wait = { key: 'promote', reason: 'approve it', sinceMs: 3_000, who: 'approval' } as const;
  expect(due([wait], [])).toBe(4_000);
  expect(due([{ ...wait, who: 'operator' }], [])).toBe(3_100);
  expect(due([wait], [{ ...failure, stillSinceMs: 3_950 }])).toBe(4_000);
});

test('an activity gets nowhere since its first report, until an attempt got on', () => {
  const first = { ...failure, stillSinceMs: sinceLastProgress(undefined, failure, 5_000) };
  expect(first.stillSinceMs).toBe(5_000);
  expect(sinceLastProgress(first, { ...failure, attempts: 16 }, 9_000)).toBe(5_000);
  expect(sinceLastProgress(first, { ...failure, attempts: 17, gotOn: true }, 9_500)).toBe(9_500);
});

test('another activity of the same key begins anew', () => {
  expect(sinceLastProgress({ ...failure, stillSinceMs: 5_000 }, { ...failure, sinceMs: 7_000 }, 9_000)).toBe(9_000);
});
