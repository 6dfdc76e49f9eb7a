// tier: integration
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { join } from 'node:path';
import { readAgent } from '../../../cli/agent';
import { parseSpan, scheduleOptions } from '../../../cli/commands/schedule';
import { startTemporal } from '../../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

test("a schedule's runs carry their agent's fairness key", async () => {
  const agent = readAgent(join(__dirname, '../../..', 'examples', 'orders-desk', 'agent.yaml'));
  const options = scheduleOptions(agent, { cron: '0 2 * * *', jitter: '10m', catchUp: '1h', timezone: 'UTC' });
  const handle = await temporal.client.schedule.create(options);
  const { action, policies } = await handle.describe();
  expect(action).toMatchObject({ workflowId: 'run-orders-desk', priority: { fairnessKey: 'orders-desk' } });
  expect(policies).toMatchObject({ overlap: 'ALLOW_ALL', catchupWindow: 3_600_000 });
});

test('spans have a unit', () => {
  expect(parseSpan('--jitter', '10m')).toBe(600_000);
  expect(() => parseSpan('--jitter', 'ten')).toThrow('--jitter "ten": a whole number with s, m, h or d');
});
