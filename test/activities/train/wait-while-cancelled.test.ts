// Tier: unit.
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { isUnwanted } from '../../../activities/train/wait-while-cancelled';

const described = (name: string, raw: object = {}) => ({ status: { name }, raw }) as WorkflowExecutionDescription;

test.each([
  ['an open run', described('RUNNING', { pendingActivities: [{ activityId: '1', state: 2 }] }), false],
  ['a paused run', described('PAUSED'), false],
  ['a terminated run', described('TERMINATED'), true],
  ['a run with a cancel request', described('RUNNING', { workflowExtendedInfo: { cancelRequested: true } }), true],
  ['a cancelled activity', described('RUNNING', { pendingActivities: [{ activityId: '1', state: 3 }] }), true],
  ['another one that is', described('RUNNING', { pendingActivities: [{ activityId: '2', state: 3 }] }), false],
])('%s', (_, description, unwanted) => {
  expect(isUnwanted(description, '1')).toBe(unwanted);
});
