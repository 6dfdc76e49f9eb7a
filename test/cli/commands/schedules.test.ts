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
import { takeTurn } from '../../../activities/schedule-turn';
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

test.each([
  [{ cron: '0 25 * * *' }, '--cron "0 25 * * *": Hour is not in range [0-23]. Five fields: minute, hour'],
  [{ cron: '*/0 * * * *' }, 'Minute has invalid Step'],
  [{ cron: '0 2 L * *' }, 'DayOfMonth is not in range [1-31]'],
  [{ cron: '0 2 * 13 *' }, 'Month is not in range [1-12]'],
  [{ cron: '0 2 * * 8' }, 'DayOfWeek is not in range [0-7]'],
  [{ cron: '0 2 * *' }, 'CronString does not have 5-7 fields'],
  [{ cron: '@nightly' }, 'CronString does not have 5-7 fields'],
  [{ cron: '@every 0s' }, 'interval is too small'],
  [{ timezone: 'Europe/Berln' }, '--timezone "Europe/Berln": unknown time zone Europe/Berln. Name a zone as in'],
  [{ timezone: '+01:00' }, '--timezone "+01:00": unknown time zone'],
  [{ timezone: 'Local' }, "Local is the zone of Temporal's machine"],
  [{ cron: 'TZ=Local 0 2 * * *' }, "Local is the zone of Temporal's machine"],
  [{ cron: 'CRON_TZ=Europe/Berlin 0 2 * * *' }, '--timezone "UTC": conflicting timezone names'],
  [{ cron: '0 2 31 2 *' }, '--cron "0 2 31 2 *": this time never comes.'],
  [{ cron: '0 2 31 apr,jun *' }, 'this time never comes.'],
  [{ cron: '0 0 2 * * *' }, '--cron "0 0 2 * * *": 6 fields. Write five: minute, hour'],
  [{ cron: '0 0 2 * * * 2030' }, '7 fields. Write five'],
])('times that a schedule cannot have are refused, and leave what there was: %j', async (changed, sentence) => {
  const path = writeSmallAgent(folder, 'times');
  const schedule = (more: Partial<typeof flags>) =>
    printed((context) => scheduleCommand(context, path, { ...flags, ...more }));
  const before = { cron: '30 4 * * *', timezone: 'Asia/Tokyo', jitter: '0s' };
  const refused = { type: 'Schedule.Invalid', exitCode: 2, message: expect.stringContaining(sentence) as string };
  await expect(schedule(changed)).rejects.toMatchObject(refused);
  expect(await printed(scheduleLsCommand)).not.toContainEqual(expect.objectContaining({ agent: 'times' }));

  await schedule(before);
  await expect(schedule(changed)).rejects.toMatchObject(refused);
  const { spec, info } = await temporal.client.schedule.getHandle('whet-times').describe();
  expect(spec.timezone).toBe('Asia/Tokyo');
  expect(info.nextActionTimes[0]?.toISOString()).toMatch(/T19:30:00\.000Z$/);
  expect(await printed(scheduleLsCommand)).toContainEqual(
    expect.objectContaining({ agent: 'times', cron: '30 4 * * *' }),
  );
  await printed((context) => scheduleCommand(context, path, { ...flags, cron: undefined, delete: true }));
});

test('a schedule says its next three times and its jitter, also with names, a comment and a zone', async () => {
  const path = writeSmallAgent(folder, 'times');
  const { cron: _, ...others } = flags;
  const given = { ...others, jitter: '10m', timezone: 'Europe/Berlin' };
  for (const cron of ['0 2 * * *', '0 2 * jan-dec sun-sat  # every night', '@daily'])
    expect(await printed((context) => scheduleCommand(context, path, { ...given, cron }))).toEqual({
      scheduleId: 'whet-times',
      replaced: cron !== '0 2 * * *',
      next: Array.from({ length: 3 }, () => expect.stringMatching(/^20.*Z$/) as string),
      jitter: '10m',
    });
  await printed((context) => scheduleCommand(context, path, { ...others, delete: true }));
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
  activities.orchestration.takeTurn = takeTurn.bind(null, { client: () => client, webhookUrl: null });
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
