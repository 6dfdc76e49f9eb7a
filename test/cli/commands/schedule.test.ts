// tier: integration
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { msToTs } from '@temporalio/common/lib/time';
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

test('the time that the guide takes comes every night, also when summer time begins or ends', async () => {
  const guide = readFileSync(join(__dirname, '../../..', 'docs', 'guides', 'nightly-runs.md'), 'utf8');
  const [, cron = '', berlin = ''] = /--cron '([^']+)' \[--timezone (\S+)\]/.exec(guide)!;
  const agent = readAgent(join(__dirname, '../../..', 'examples', 'orders-desk', 'agent.yaml'));
  for (const timezone of [berlin, 'America/New_York', 'Europe/London', 'Australia/Sydney']) {
    const options = scheduleOptions(agent, { cron, jitter: '0s', catchUp: '1h', timezone });
    const { scheduleId } = await temporal.client.schedule.create({ ...options, scheduleId: timezone });
    const { startTime } = await temporal.client.workflowService.listScheduleMatchingTimes({
      namespace: 'default',
      scheduleId,
      startTime: msToTs(Date.UTC(2027, 0, 1, 12)),
      endTime: msToTs(Date.UTC(2028, 0, 1, 12)),
    });
    expect(startTime).toHaveLength(365);
  }
});

test('spans have a unit', () => {
  expect(parseSpan('--jitter', '10m')).toBe(600_000);
  expect(() => parseSpan('--jitter', 'ten')).toThrow('--jitter "ten": a whole number with s, m, h or d');
});
