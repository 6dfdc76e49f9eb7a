// tier: unit
import type { RepeatedFailure, RunWait } from '../../../contracts/messages/run';
import { firstDue } from '../../../workflows/waits/wait-deadlines';

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
