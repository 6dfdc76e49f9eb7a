import { setTimeout as sleep } from 'node:timers/promises';
import { type ScheduleDescription, type ScheduleHandle, ScheduleOverlapPolicy } from '@temporalio/client';
import { scheduleIdOf, SEARCH_ATTRIBUTES } from '../../contracts/names';
import { agentNamed } from '../agent';
import type { Context } from '../context';
import { CliError } from '../errors';
import { table } from '../output';
import { requireSearchAttributes, type Temporal, withTemporal } from '../temporal';
import { describeSchedule } from './schedule';

const PREFIX = scheduleIdOf('');

/** A schedule in the list. Times are ISO dates. */
interface ScheduleRow {
  agent: string;
  scheduleId: string;
  cron: string | null;
  paused: boolean;
  /** Why it was paused; null if it is not paused. */
  note: string | null;
  next: string | null;
  last: { runId: string; startedAt: string; outcome: string | null } | null;
  /** Number of starts that the server missed, because it was down for longer than the catch-up window. */
  missed: number;
}

/** `whet schedule ls`: every schedule with its next and its last night. */
export async function scheduleLsCommand({ settings, out }: Context): Promise<void> {
  await withTemporal(settings, async (temporal) => {
    const rows: ScheduleRow[] = [];
    for await (const { scheduleId } of temporal.client.schedule.list()) {
      if (!scheduleId.startsWith(PREFIX)) continue;
      const description = await describeSchedule(temporal.client.schedule.getHandle(scheduleId));
      if (description !== null) rows.push(await rowOf(temporal, description));
    }
    rows.sort((a, b) => (a.agent < b.agent ? -1 : 1));
    const lines = rows.map((row) => [
      row.agent,
      row.cron ?? '',
      row.paused ? 'paused' : minute(row.next),
      row.last === null ? '' : `${minute(row.last.startedAt)}, ${row.last.outcome ?? 'unknown'}`,
      [row.note, row.missed > 0 ? `${row.missed} starts missed` : null].filter((text) => text !== null).join('; '),
    ]);
    const head = ['agent', 'cron', 'next night', 'last night', 'note'];
    out.result(rows, rows.length === 0 ? 'No schedules.' : table([head, ...lines]));
  });
}

const minute = (date: string | null) => (date === null ? '' : `${date.slice(0, 16).replace('T', ' ')} UTC`);

async function rowOf({ client }: Temporal, description: ScheduleDescription): Promise<ScheduleRow> {
  const { scheduleId, state, info, action } = description;
  // Replacing the action does not replace a schedule's own memo.
  const cron = action.type === 'startWorkflow' ? action.memo?.['cron'] : null;
  const last = info.recentActions.at(-1);
  const runId = last?.action.type === 'startWorkflow' ? last.action.workflow.workflowId : null;
  return {
    agent: scheduleId.slice(PREFIX.length),
    scheduleId,
    cron: typeof cron === 'string' ? cron : null,
    paused: state.paused,
    note: state.paused ? (state.note ?? null) : null,
    next: state.paused ? null : (info.nextActionTimes[0]?.toISOString() ?? null),
    last:
      last === undefined || runId === null
        ? null
        : { runId, startedAt: last.takenAt.toISOString(), outcome: await outcomeOf(client, runId) },
    missed: info.numActionsMissedCatchupWindow,
  };
}

/** The outcome of a run, or `running`; null if the server no longer knows the run. */
async function outcomeOf(client: Temporal['client'], runId: string): Promise<string | null> {
  try {
    const { searchAttributes, status } = await client.workflow.getHandle(runId).describe();
    const [outcome] = (searchAttributes[SEARCH_ATTRIBUTES.verdict] as string[] | undefined) ?? [];
    return status.name === 'TERMINATED' ? 'terminated' : (outcome ?? status.name.toLowerCase());
  } catch {
    return null;
  }
}

/** `whet schedule pause AGENT [--note TEXT]`: no night begins until `resume`. A running night continues. */
export function schedulePauseCommand(context: Context, agent: string, { note }: { note?: string }): Promise<void> {
  return change(context, agent, async (handle, { state }) => {
    if (!state.paused) await handle.pause(note ?? 'paused with whet schedule pause');
    return { paused: true, changed: !state.paused, text: state.paused ? 'was paused already' : 'paused' };
  });
}

/** `whet schedule resume AGENT`: nights begin again. Missed nights are not repeated. */
export function scheduleResumeCommand(context: Context, agent: string): Promise<void> {
  return change(context, agent, async (handle, { state }) => {
    if (state.paused) await handle.unpause('resumed with whet schedule resume');
    const next = (await handle.describe()).info.nextActionTimes[0]?.toISOString() ?? null;
    const text = `${state.paused ? 'resumed' : 'was not paused'}, next night at ${minute(next) || '(none)'}`;
    return { paused: false, changed: state.paused, next, text };
  });
}

/** `whet schedule trigger AGENT`: a night begins now, even while the schedule is paused. */
export function scheduleTriggerCommand(context: Context, agent: string): Promise<void> {
  return change(context, agent, async (handle, before, temporal) => {
    await requireSearchAttributes(temporal);
    const known = new Set(before.info.recentActions.map(runIdOf));
    await nextSecondAfter(before.info.recentActions.at(-1)?.takenAt);
    await handle.trigger(ScheduleOverlapPolicy.ALLOW_ALL);
    const runId = await startedRun(handle, known);
    const text = `a night begins now: ${runId}\nfollow it with: whet status ${runId} --follow`;
    return { triggered: true, runId, text };
  });
}

const runIdOf = ({ action }: ScheduleDescription['info']['recentActions'][number]) =>
  action.type === 'startWorkflow' ? action.workflow.workflowId : '';

/**
 * Waits for the next second. The server puts the second of its start into a run's id. It silently drops a trigger if
 * the run with that id is still open.
 */
async function nextSecondAfter(last: Date | undefined): Promise<void> {
  if (last === undefined) return;
  const left = Math.floor(last.getTime() / 1000) * 1000 + 1000 - Date.now();
  // The server's clock may differ from ours: a time further away is no reason to wait.
  if (left > 0 && left <= 1000) await sleep(left);
}

/** How often the server is asked for the started run, and the time between. */
const LOOKS = 150;
const BETWEEN_LOOKS_MS = 200;

async function startedRun(handle: ScheduleHandle, known: ReadonlySet<string>): Promise<string> {
  for (let look = 0; look < LOOKS; look++) {
    const { info } = await handle.describe();
    const started = info.recentActions.map(runIdOf).findLast((runId) => runId !== '' && !known.has(runId));
    if (started !== undefined) return started;
    await sleep(BETWEEN_LOOKS_MS);
  }
  throw new CliError('The server took the order and has not started a run yet: `whet ls` shows it when it has.', {
    type: 'Temporal.Failed',
  });
}

/** Changes the schedule of an agent, given by name or agent.yaml. @throws CliError (exit 2) if there is none. */
async function change(
  { settings, out }: Context,
  agentOrPath: string,
  action: (
    handle: ScheduleHandle,
    before: ScheduleDescription,
    temporal: Temporal,
  ) => Promise<{ text: string } & Record<string, unknown>>,
): Promise<void> {
  const agent = agentNamed(agentOrPath, { type: 'Schedule.Invalid' });
  await withTemporal(settings, async (temporal) => {
    const handle = temporal.client.schedule.getHandle(scheduleIdOf(agent));
    const before = await describeSchedule(handle);
    if (before === null)
      throw new CliError(`${agent} has no schedule. \`whet schedule ls\` lists the schedules.`, {
        type: 'Schedule.NotFound',
      });
    const { text, ...result } = await action(handle, before, temporal);
    out.result({ agent, scheduleId: handle.scheduleId, ...result }, `${handle.scheduleId}: ${text}`);
  });
}
