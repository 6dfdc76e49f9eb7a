import {
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { scheduleIdOf, SEARCH_ATTRIBUTES, TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type { ImprovementRunInput } from '../../contracts/messages/run';
import { type Agent, readAgent } from '../agent';
import type { Context } from '../context';
import { CliError } from '../errors';
import { requireSearchAttributes, withTemporal } from '../temporal';

/** Flags of `whet schedule`. Spans are texts like `10m`. */
export interface ScheduleFlags {
  cron?: string;
  jitter: string;
  catchUp: string;
  timezone: string;
  delete?: boolean;
}

/** Longest span: of a longer one the server makes some other time, without a word. */
const MOST_DAYS = 365;

/** A span like `90s`, `10m`, `2h`, `1d` in milliseconds, a year at most. @throws CliError (exit 2) */
export function parseSpan(flag: string, text: string): number {
  const match = /^(\d+)(s|m|h|d)$/.exec(text);
  const unit = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match?.[2] ?? ''];
  if (match === null || unit === undefined) {
    throw new CliError(`${flag} ${JSON.stringify(text)}: a whole number with s, m, h or d, such as 10m.`, {
      type: 'Schedule.Invalid',
    });
  }
  const span = Number(match[1]) * unit;
  if (span > MOST_DAYS * 86_400_000)
    throw new CliError(`${flag} ${JSON.stringify(text)}: at most ${MOST_DAYS}d.`, { type: 'Schedule.Invalid' });
  return span;
}

/**
 * The Temporal Schedule of an agent's runs. A start that the server missed is made up for within the catch-up window.
 */
export function scheduleOptions(
  agent: Agent,
  { cron, jitter, catchUp, timezone }: ScheduleFlags & { cron: string },
): ScheduleOptions {
  // The server appends the time to the workflow's id; a run takes its id from there when its input names none.
  const input: ImprovementRunInput = { runId: '', agent: agent.spec.name, specPath: agent.path };
  return {
    scheduleId: scheduleIdOf(agent.spec.name),
    spec: { cronExpressions: [cron], timezone, jitter: parseSpan('--jitter', jitter) },
    // Each night begins as a run, which looks at the others and says why where it is skipped.
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: parseSpan('--catch-up', catchUp) },
    action: {
      // The client (1.24) sends the priority although its types lack the field.
      ...{ priority: { fairnessKey: agent.spec.name } },
      type: 'startWorkflow',
      workflowType: WORKFLOWS.improvementRun,
      workflowId: `run-${agent.spec.name}`,
      taskQueue: TASK_QUEUES.orchestration,
      args: [input],
      memo: { agent: agent.spec.name, seed: agent.spec.seed, specPath: agent.path, scheduled: true, cron },
      // The run has the attribute from its start, so that the next night finds it although no worker has taken it yet.
      typedSearchAttributes: [
        { key: defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD'), value: agent.spec.name },
      ],
      staticSummary: `scheduled improvement run of ${agent.spec.name}`,
    },
    memo: { agent: agent.spec.name },
  };
}

/** `whet schedule AGENT_YAML --cron '0 2 * * *'`: creates or replaces the agent's schedule; `--delete` removes it. */
export async function scheduleCommand(
  { settings, out }: Context,
  path: string | undefined,
  flags: ScheduleFlags,
): Promise<void> {
  if (path === undefined)
    throw new CliError('Name the agent.yaml, or say what to do: ls, pause, resume, trigger.', {
      type: 'Schedule.Invalid',
    });
  const agent = readAgent(path);
  const { cron } = flags;
  if (cron !== undefined && flags.delete === true)
    throw new CliError('--cron and --delete together: name the one that is meant.', { type: 'Schedule.Invalid' });
  if (cron === undefined && flags.delete !== true)
    throw new CliError("Say when: --cron '0 2 * * *' (minute, hour, day of month, month, day of week), or --delete.", {
      type: 'Schedule.Invalid',
    });
  const options = cron === undefined ? null : scheduleOptions(agent, { ...flags, cron });
  await withTemporal(settings, async (temporal) => {
    const { client } = temporal;
    if (options !== null) await requireSearchAttributes(temporal);
    const handle = client.schedule.getHandle(scheduleIdOf(agent.spec.name));
    const existing = await describeSchedule(handle);
    if (options === null) {
      if (existing === null) throw new CliError(`${agent.spec.name} has no schedule.`, { type: 'Schedule.NotFound' });
      await handle.delete();
      out.result({ scheduleId: handle.scheduleId, deleted: true }, `${handle.scheduleId}: deleted`);
      return;
    }
    try {
      if (existing === null) await client.schedule.create(options);
      else await handle.update((previous) => ({ ...options, state: previous.state, action: options.action }));
    } catch (error) {
      throw badCron(error, cron ?? '');
    }
    const { info } = await handle.describe();
    const next = info.nextActionTimes.slice(0, 3).map((time) => time.toISOString());
    const done = existing === null ? 'created' : 'replaced';
    const text = `${handle.scheduleId}: ${done}, next runs at ${next.join(', ') || '(none)'}`;
    out.result({ scheduleId: handle.scheduleId, replaced: existing !== null, next }, text);
  });
}

/** A schedule as the server has it; null when there is none. */
export function describeSchedule(handle: ScheduleHandle): Promise<ScheduleDescription | null> {
  return handle.describe().catch((error: unknown) => {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  });
}

/** The server checks the cron expression; its complaint becomes an error about the flag. */
function badCron(error: unknown, cron: string): unknown {
  const details = (error as { cause?: { details?: string } }).cause?.details ?? (error as Error).message;
  if (!/cron|schedule spec|CalendarSpec/i.test(details)) return error;
  return new CliError(
    `--cron ${JSON.stringify(cron)}: ${details}. Five fields: minute, hour, day of month, month, day of week.`,
    {
      type: 'Schedule.Invalid',
      cause: error,
    },
  );
}
