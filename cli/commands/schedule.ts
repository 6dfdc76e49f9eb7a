import {
  type Client,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { RUN_ENDS, scheduleIdOf, SEARCH_ATTRIBUTES, TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import { isPlayable } from '../../contracts/config/environment-kinds';
import type { ImprovementRunInput } from '../../contracts/messages/run';
import { type Agent, readAgent } from '../agent';
import type { Context } from '../context';
import { CliError } from '../errors';
import { requireSearchAttributes, withTemporal } from '../temporal';

/** Flags of `whet schedule`. Durations are texts like `10m`. */
export interface ScheduleFlags {
  cron?: string;
  jitter: string;
  catchUp: string;
  timezone: string;
  delete?: boolean;
  /** Refused: nights have all stages. */
  until?: string;
}

/** Longest duration: the server silently replaces a longer one. */
const MOST_DAYS = 365;

/** Of a cron expression. */
const FIELDS = 'minute, hour, day of month, month, day of week';

/** A duration like `90s`, `10m`, `2h`, `1d` in milliseconds, a year at most. @throws CliError (exit 2) */
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
 * The Temporal Schedule of an agent's runs. A start that the server missed happens later, within the catch-up window.
 */
export function scheduleOptions(
  agent: Agent,
  { cron, jitter, catchUp, timezone }: ScheduleFlags & { cron: string },
): ScheduleOptions {
  // The server appends the time to the workflow's id. A run takes its id from the workflow's id if its input has none.
  const input: ImprovementRunInput = {
    ...{ runId: '', agent: agent.spec.name, specPath: agent.path },
    // Where nothing is played, a night can diagnose and no more.
    ...(!isPlayable(agent.spec.environment) && { until: RUN_ENDS[0] }),
  };
  return {
    scheduleId: scheduleIdOf(agent.spec.name),
    spec: { cronExpressions: [cron], timezone, jitter: parseSpan('--jitter', jitter) },
    // Each night begins as a run, which looks at the other runs and says why if it is skipped.
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
      // The run has the attribute from its start, so that the next night finds it even before a worker takes it.
      typedSearchAttributes: [
        { key: defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD'), value: agent.spec.name },
      ],
      staticSummary: `scheduled improvement run of ${agent.spec.name}`,
    },
    memo: { agent: agent.spec.name },
  };
}

/** `whet schedule AGENT_YAML --cron '0 3 * * *'`: creates or replaces the agent's schedule; `--delete` removes it. */
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
  const { cron, until } = flags;
  if (until !== undefined)
    throw new CliError(
      `--until ${until}: a night has all stages. A single run may end earlier: whet run ${path} --until ${RUN_ENDS[0]}`,
      { type: 'Schedule.Invalid' },
    );
  if (cron !== undefined && flags.delete === true)
    throw new CliError('--cron and --delete together: name the one that is meant.', { type: 'Schedule.Invalid' });
  if (cron === undefined && flags.delete !== true)
    throw new CliError(`Say when: --cron '0 3 * * *' (${FIELDS}), or --delete.`, { type: 'Schedule.Invalid' });
  if (cron !== undefined) refuseMoreFields(cron);
  refuseLocalZone(flags);
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
    const next = await putSchedule(client, options, existing, flags);
    const done = existing === null ? 'created' : 'replaced';
    const late = options.spec.jitter === 0 ? '' : ` (up to ${flags.jitter} after the time of the cron expression)`;
    const text = `${handle.scheduleId}: ${done}, next runs at ${next.join(', ')}${late}`;
    out.result({ scheduleId: handle.scheduleId, replaced: existing !== null, next, jitter: flags.jitter }, text);
  });
}

/**
 * Creates or replaces a schedule. Returns its next three times as ISO dates. If there are none, the schedule stays as
 * it was before.
 * @throws CliError (exit 2) if the server refuses the times, or if they never come.
 */
async function putSchedule(
  { schedule }: Client,
  options: ScheduleOptions,
  existing: ScheduleDescription | null,
  { cron, timezone }: ScheduleFlags,
): Promise<string[]> {
  const handle = schedule.getHandle(options.scheduleId);
  try {
    if (existing === null) await schedule.create(options);
    else await handle.update((previous) => ({ ...options, state: previous.state, action: options.action }));
  } catch (error) {
    // The client throws this for times that the server refuses.
    if (!(error instanceof TypeError)) throw error;
    throw badTimes({ cron, timezone }, error);
  }
  const next = (await handle.describe()).info.nextActionTimes.slice(0, 3).map((time) => time.toISOString());
  if (next.length > 0) return next;
  if (existing === null) await handle.delete();
  else await handle.update(() => existing);
  throw new CliError(
    `--cron ${JSON.stringify(cron)}: this time never comes. Correct day of month and month, such as 31 in February.`,
    { type: 'Schedule.Invalid' },
  );
}

/** A schedule according to the server; null if there is none. */
export function describeSchedule(handle: ScheduleHandle): Promise<ScheduleDescription | null> {
  return handle.describe().catch((error: unknown) => {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  });
}

/** The server's message about a cron expression or a time zone, as an error about the flag. */
function badTimes({ cron, timezone }: Pick<ScheduleFlags, 'cron' | 'timezone'>, cause: Error): CliError {
  const message = /time ?zone/i.test(cause.message)
    ? `--timezone ${JSON.stringify(timezone)}: ${cause.message}. Name a zone as in Europe/Berlin, in this flag alone.`
    : `--cron ${JSON.stringify(cron)}: ${cause.message}. Five fields: ${FIELDS}.`;
  return new CliError(message, { type: 'Schedule.Invalid', cause });
}

/** The server reads `Local` as the zone of its own machine, which nobody here knows. @throws CliError (exit 2) */
function refuseLocalZone({ cron, timezone }: ScheduleFlags): void {
  if (timezone !== 'Local' && !/^\s*(CRON_)?TZ=Local\s/.test(cron ?? '')) return;
  throw new CliError("Local is the zone of Temporal's machine. Name a zone as in Europe/Berlin, with --timezone.", {
    type: 'Schedule.Invalid',
  });
}

/**
 * The server reads a sixth field as a year, other programs read the first field as seconds. @throws CliError (exit 2)
 * for both.
 */
function refuseMoreFields(cron: string): void {
  const fields = cron
    .replace(/#.*$/, '')
    .trim()
    .replace(/^(CRON_)?TZ=\S+\s+/, '')
    .split(/\s+/);
  if (fields.length <= 5 || fields[0]!.startsWith('@')) return;
  throw new CliError(
    `--cron ${JSON.stringify(cron)}: ${fields.length} fields. Write five: ${FIELDS}; no seconds and no year.`,
    { type: 'Schedule.Invalid' },
  );
}
