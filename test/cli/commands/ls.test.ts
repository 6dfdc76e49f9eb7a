// integration: `whet ls --waiting` lists what waits in the runs of a real Temporal server.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { lsCommand } from '../../../cli/commands/ls';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import type { WaitingRow } from '../../../cli/view/waiting-runs';
import { fakeActivities } from '../../fakes/activities';
import { startRun, until } from '../../helpers/runs';
import { startTemporal, withWorkers } from '../../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

async function ls<T>(json: boolean, flags: { waiting?: boolean; agent?: string } = {}): Promise<T> {
  let printed = '';
  const out = createOutput(json, { write: (text: string) => ((printed += text), true) });
  await lsCommand({ settings: readSettings({ TEMPORAL_ADDRESS: temporal.address }), out }, { limit: 20, ...flags });
  return (json ? JSON.parse(printed) : printed) as T;
}

test('what waits is listed with its stage, since when, for whom, and the command that answers it', async () => {
  expect(await ls<string>(false, { waiting: true })).toBe('No run waits for anybody.\n');
  const { activities } = fakeActivities();
  let isCured = false;
  const collect = activities.sandbox.collectTrajectories!;
  activities.sandbox.collectTrajectories = async (...input) => {
    if (!isCured) throw ApplicationFailure.nonRetryable('401 from the endpoint', 'Model.Refused');
    return collect(...input);
  };
  const { handle, runId, progress, answer, result } = await withWorkers(temporal, activities, async () => {
    const run = await startRun(temporal);
    await until(run.progress, ({ waits }) => waits.length > 0);
    const rows = await until(
      () => ls<WaitingRow[]>(true, { waiting: true }),
      (all) => all.length > 0,
    );
    expect(rows).toEqual([
      {
        runId: run.runId,
        agent: 'desk',
        stage: 'collect',
        key: 'collect',
        who: 'operator',
        since: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/) as string,
        until: null,
        reason: expect.stringContaining('401 from the endpoint') as string,
        commands: [expect.stringMatching(new RegExp(`^whet retry ${run.runId}`)) as string],
      },
    ]);
    const text = await ls<string>(false, { waiting: true });
    expect(text).toContain(`${run.runId} (collect) waits for the operator, since `);
    expect(text).toContain(`\n  $ whet retry ${run.runId}`);
    expect(await ls<string>(false)).toContain('waits for the operator, ');
    expect(await ls<WaitingRow[]>(true, { waiting: true, agent: 'another' })).toEqual([]);
    return run;
  });
  // Without a worker the server still knows that it waits.
  const [row] = await ls<WaitingRow[]>(true, { waiting: true });
  expect(row).toMatchObject({ runId, who: 'operator', since: null, commands: [] });
  expect(row?.reason).toContain('No worker answers');
  isCured = true;
  await withWorkers(temporal, activities, async () => {
    await until(progress, ({ waits }) => waits.length > 0);
    await answer({ answer: 'retry' });
    await result();
  });
  await handle.describe();
  expect(await ls<WaitingRow[]>(true, { waiting: true })).toEqual([]);
});
