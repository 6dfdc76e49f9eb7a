import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { SEARCH_ATTRIBUTES, type WaitingFor } from '../../contracts/names';
import { agentOf, OPEN_RUNS, readProgress } from './run-state';
import { type Wait, WAITS_FOR, waitsOf } from './waits';

/** A wait, and its run. */
export interface WaitingRow extends Omit<Wait, 'key' | 'since'> {
  /** Null if no worker answers. */
  key: string | null;
  /** As an ISO date; null if no worker answers. */
  since: string | null;
  runId: string;
  agent: string | null;
  /** The current stage of the run. */
  stage: string | null;
}

/** Number of runs that are asked in parallel for their progress. */
const AT_ONCE = 8;

/**
 * All waits in the runs of all agents or of one, the longest wait first. Only a run's worker knows its waits. For a run
 * without a worker, only the search attribute shows that it waits.
 * @param agent a checked name, because it becomes part of the query.
 */
export async function waitingRuns(client: Client, agent: string | undefined): Promise<WaitingRow[]> {
  const values = Object.keys(WAITS_FOR).map((who) => `'${who}'`);
  const query = [
    OPEN_RUNS,
    `${SEARCH_ATTRIBUTES.waiting} IN (${values.join(', ')})`,
    ...(agent === undefined ? [] : [`${SEARCH_ATTRIBUTES.agent} = '${agent}'`]),
  ].join(' AND ');
  const runs: WorkflowExecutionInfo[] = [];
  for await (const info of client.workflow.list({ query })) runs.push(info);
  const rows: WaitingRow[] = [];
  for (let i = 0; i < runs.length; i += AT_ONCE)
    rows.push(...(await Promise.all(runs.slice(i, i + AT_ONCE).map((info) => rowsOf(client, info)))).flat());
  return rows.sort((a, b) => (a.since ?? '').localeCompare(b.since ?? ''));
}

/** Whom a run in a list waits for; null if it does not wait. */
export function waitingForOf({ status, searchAttributes }: WorkflowExecutionInfo): WaitingFor | null {
  const [who] = (searchAttributes[SEARCH_ATTRIBUTES.waiting] as string[] | undefined) ?? [];
  return status.name === 'RUNNING' && who !== undefined && Object.hasOwn(WAITS_FOR, who) ? (who as WaitingFor) : null;
}

async function rowsOf(client: Client, info: WorkflowExecutionInfo): Promise<WaitingRow[]> {
  const runId = info.workflowId;
  const [stage = null] = (info.searchAttributes[SEARCH_ATTRIBUTES.stage] as string[] | undefined) ?? [];
  const run = { runId, agent: agentOf(info), stage };
  const progress = await readProgress(client, runId);
  // A run that was answered after the list was made no longer waits.
  if (progress !== null) return waitsOf(runId, progress).map((wait) => ({ ...run, ...wait }));
  const who = waitingForOf(info) ?? 'operator';
  const reason = `No worker answers, so nobody can say why: start one with \`whet up\`, then ask \`whet why ${runId}\`.`;
  return [{ ...run, key: null, who, since: null, until: null, reason, commands: [] }];
}
