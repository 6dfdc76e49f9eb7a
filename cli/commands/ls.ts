import { cleanBlock } from '../../contracts/clean-text';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { SEARCH_ATTRIBUTES, type WaitingFor, WORKFLOWS } from '../../contracts/names';
import type { Context } from '../context';
import { CliError } from '../errors';
import { duration, table } from '../output';
import { withTemporal } from '../temporal';
import { agentOf, readProgress } from '../view/run-state';
import { waitingForOf, type WaitingRow, waitingRuns } from '../view/waiting-runs';
import { sinceText, untilText, WAITS_FOR, waitsOf } from '../view/waits';

/** A run in the list. */
interface RunRow {
  runId: string;
  agent: string | null;
  status: string;
  stage: string | null;
  verdict: string | null;
  /** Whom it waits for; null if it does not wait. */
  waitingFor: WaitingFor | null;
  /** Start of its longest wait; null if it does not wait, or if no worker answers. */
  waitingSince: string | null;
  startedAt: string;
  seconds: number;
}

/** Flags of `whet ls`. */
export interface LsFlags {
  agent?: string;
  waiting?: boolean;
  limit: number;
}

/**
 * `whet ls [--agent NAME] [--limit N]`: runs, the newest first. With `--waiting` it lists everything in open runs that
 * waits for somebody, the longest wait first, with the commands that answer it.
 */
export async function lsCommand(context: Context, { agent, waiting, limit }: LsFlags): Promise<void> {
  if (agent !== undefined && !/^[a-z0-9-]+$/.test(agent)) {
    throw new CliError(`--agent ${JSON.stringify(agent)}: an agent's name has lower-case letters, digits and dashes.`, {
      exitCode: 2,
    });
  }
  const { settings, out } = context;
  await withTemporal(settings, async ({ client }) => {
    if (waiting === true) {
      const rows = (await waitingRuns(client, agent)).slice(0, limit);
      out.result(rows, waitingText(rows, Date.now()));
      return;
    }
    const ofAgent = agent === undefined ? '' : ` AND ${SEARCH_ATTRIBUTES.agent} = '${agent}'`;
    const query = `WorkflowType = '${WORKFLOWS.improvementRun}'${ofAgent}`;
    const found: WorkflowExecutionInfo[] = [];
    for await (const info of client.workflow.list({ query })) {
      found.push(info);
      if (found.length >= limit) break;
    }
    const rows = await Promise.all(found.map((info) => rowOf(client, info)));
    const text = rows.map((r) => [
      r.runId,
      r.status,
      r.stage ?? '',
      r.status === 'running' ? waitText(r, Date.now()) : (r.verdict ?? ''),
      duration(r.seconds),
    ]);
    out.result(rows, rows.length === 0 ? 'No runs.' : table([['run', 'status', 'stage', 'verdict', 'time'], ...text]));
  });
}

async function rowOf(client: Client, info: WorkflowExecutionInfo): Promise<RunRow> {
  const attribute = (name: string) => (info.searchAttributes[name] as string[] | undefined)?.[0] ?? null;
  const waitingFor = waitingForOf(info);
  const progress = waitingFor === null ? null : await readProgress(client, info.workflowId);
  const waits = progress === null ? [] : waitsOf(info.workflowId, progress);
  return {
    runId: info.workflowId,
    agent: agentOf(info),
    status: info.status.name.toLowerCase(),
    stage: attribute(SEARCH_ATTRIBUTES.stage),
    verdict: attribute(SEARCH_ATTRIBUTES.verdict),
    waitingFor,
    waitingSince: waits.map(({ since }) => since ?? '').sort()[0] ?? null,
    startedAt: info.startTime.toISOString(),
    seconds: ((info.closeTime ?? new Date()).getTime() - info.startTime.getTime()) / 1000,
  };
}

function waitText({ waitingFor, waitingSince }: RunRow, now: number): string {
  if (waitingFor === null) return '';
  const time = waitingSince === null ? '' : `, ${duration((now - Date.parse(waitingSince)) / 1000)}`;
  return `waits ${WAITS_FOR[waitingFor]}${time}`;
}

/** Each wait as a paragraph, because a reason is too long for a column. */
function waitingText(rows: readonly WaitingRow[], now: number): string {
  if (rows.length === 0) return 'No run waits for anybody.';
  const paragraphs = rows.map(({ runId, key, stage, who, since, until, reason, commands }) => {
    const where = [stage, key].filter((name, i, all) => name !== null && all.indexOf(name) === i).join(', ');
    const untilMs = until === null ? undefined : Date.parse(until);
    const time = since === null ? '' : `, ${sinceText(Date.parse(since), now)}${untilText(untilMs, now)}`;
    const head = `${runId}${where === '' ? '' : ` (${where})`} waits ${WAITS_FOR[who]}${time}`;
    return [head, cleanBlock(`  ${reason}`), ...commands.map((command) => `  $ ${command}`)].join('\n');
  });
  return paragraphs.join('\n\n');
}
