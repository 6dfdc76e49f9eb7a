// integration: `whet schedule` and what it does with schedules that exist, on a real Temporal server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { Context } from '../../../cli/context';
import { createOutput } from '../../../cli/output';
import { createProgram } from '../../../cli/program';
import { scheduleCommand } from '../../../cli/commands/schedule';
import {
  scheduleLsCommand,
  schedulePauseCommand,
  scheduleResumeCommand,
  scheduleTriggerCommand,
} from '../../../cli/commands/schedules';
import { readSettings } from '../../../cli/settings';
import { createScheduleTurnActivities } from '../../../activities/schedule-turn';
import { SEARCH_ATTRIBUTES } from '../../../contracts/names';
import { fakeActivities } from '../../fakes/activities';
import { until } from '../../helpers/runs';
import { startTemporal, withWorkers } from '../../helpers/temporal';
import { writeSmallAgent } from '../small-agent';

let temporal: TestWorkflowEnvironment;
const folder = mkdtempSync(join(tmpdir(), 'whet-schedules-'));
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await temporal.teardown();
});

const flags = { cron: '0 2 * * *', jitter: '0s', catchUp: '6h', timezone: 'UTC' };

/** Runs a command and returns what it prints with --json. */
async function printed(command: (context: Context) => Promise<void>): Promise<unknown> {
  const results: unknown[] = [];
  const out = { ...createOutput(true), result: (data: unknown) => void results.push(data) };
  await command({ settings: readSettings({ TEMPORAL_ADDRESS: temporal.address, WHET_HOME: folder }), out });
  return results[0];
}

test('a schedule is listed, paused with a note, resumed and triggered', async () => {
  const path = writeSmallAgent(folder);
  expect(await printed(scheduleLsCommand)).toEqual([]);
  await printed((context) => scheduleCommand(context, path, flags));
  const row = { agent: 'desk', scheduleId: 'whet-desk', cron: '0 2 * * *', note: null, last: null, missed: 0 };
  expect(await printed(scheduleLsCommand)).toEqual([
    { ...row, paused: false, next: expect.stringMatching(/T02:00:00\.000Z$/) as string },
  ]);

  const pause = (agent: string) => printed((context) => schedulePauseCommand(context, agent, { note: 'holidays' }));
  expect(await pause('desk')).toMatchObject({ agent: 'desk', paused: true, changed: true });
  expect(await pause(path)).toMatchObject({ agent: 'desk', paused: true, changed: false });
  expect(await printed(scheduleLsCommand)).toEqual([{ ...row, paused: true, note: 'holidays', next: null }]);
  expect(await printed((context) => scheduleResumeCommand(context, 'desk'))).toMatchObject({
    paused: false,
    changed: true,
    next: expect.stringMatching(/T02:00:00\.000Z$/) as string,
  });

  await printed((context) => scheduleCommand(context, path, { ...flags, cron: '0 3 * * *' }));
  expect(await printed(scheduleLsCommand)).toMatchObject([
    { cron: '0 3 * * *', next: expect.stringMatching(/T03:00:00\.000Z$/) as string },
  ]);
});

test('a night that is triggered while another is at work is a run that says why it was skipped', async () => {
  const { activities } = fakeActivities();
  const { collectTrajectories } = activities.sandbox;
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  activities.sandbox.collectTrajectories = (context) => held.then(() => collectTrajectories!(context));
  // The server's lists lag behind: this one lacks the run that is at work.
  const workflow = Object.create(temporal.client.workflow, {
    list: { value: async function* () {} },
  }) as Client['workflow'];
  const client = Object.create(temporal.client, { workflow: { value: workflow } }) as Client;
  Object.assign(activities.orchestration, createScheduleTurnActivities({ client: () => client, webhookUrl: null }));
  const trigger = async () =>
    ((await printed((context) => scheduleTriggerCommand(context, 'desk'))) as { runId: string }).runId;
  await withWorkers(temporal, activities, async () => {
    try {
      const first = await trigger();
      await until(
        () => temporal.client.workflow.getHandle(first).describe(),
        (d) => (d.searchAttributes[SEARCH_ATTRIBUTES.stage] as string[] | undefined)?.[0] === 'collect',
      );
      const second = await trigger();
      expect(second).not.toBe(first);
      expect(await temporal.client.workflow.getHandle(second).result()).toMatchObject({
        verdict: 'skipped',
        reasons: [expect.stringContaining(`Skipped: ${first} has not ended.`) as string],
      });
      const [row] = (await printed(scheduleLsCommand)) as { last: unknown }[];
      expect(row?.last).toMatchObject({ runId: second, outcome: 'skipped' });
      release();
      await temporal.client.workflow.getHandle(first).result();
    } finally {
      // An activity that is held would keep its worker, and the test, from ending.
      release();
    }
  });
});

test('an agent without a schedule, and what is no agent, are refused', async () => {
  for (const [agent, type] of [
    ['nobody', 'Schedule.NotFound'],
    ['No Body', 'Schedule.Invalid'],
  ] as const)
    await expect(printed((context) => scheduleResumeCommand(context, agent))).rejects.toMatchObject({
      type,
      exitCode: 2,
    });
});

test('--json after a subcommand is its own', () => {
  const schedule = createProgram().commands.find((command) => command.name() === 'schedule')!;
  const ls = schedule.commands.find((command) => command.name() === 'ls')!;
  ls.action(() => undefined);
  schedule.parse(['ls', '--json'], { from: 'user' });
  expect([ls.opts(), schedule.opts()]).toEqual([{ json: true }, expect.not.objectContaining({ json: true })]);
});

test('--json after a subcommand is its own on the whole command line, too', async () => {
  const program = createProgram();
  const schedule = program.commands.find((command) => command.name() === 'schedule')!;
  for (const command of schedule.commands) command.action(() => undefined);
  for (const [name, ...rest] of [['ls'], ['pause', 'desk'], ['resume', 'desk'], ['trigger', 'desk']] as const) {
    await program.parseAsync(['schedule', name, ...rest, '--json'], { from: 'user' });
    expect(schedule.commands.find((command) => command.name() === name)!.opts()).toEqual({ json: true });
  }
});

test('--cron and --delete together are refused, and so is a span longer than a year', async () => {
  const path = writeSmallAgent(folder);
  const order = (more: object) => printed((context) => scheduleCommand(context, path, { ...flags, ...more }));
  await expect(order({ delete: true })).rejects.toThrow('--cron and --delete');
  await expect(order({ jitter: '99999999999999999999999d' })).rejects.toThrow('at most 365d');
  await expect(order({ catchUp: '366d' })).rejects.toThrow('at most 365d');
});
