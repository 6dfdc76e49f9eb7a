import {
  type Client,
  ScheduleNotFoundError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { SEARCH_ATTRIBUTES, scheduleIdOf, WORKFLOWS } from '../../contracts/names';

/** A run of the agent that has begun earlier and not ended. */
export interface OpenRun {
  runId: string;
  startedAt: Date;
  /** Whether a schedule started it. */
  scheduled: boolean;
  /** `waits`: for an answer, and does nothing else. `approval`: its result waits for an approval alone. */
  state: 'works' | 'waits' | 'approval';
  /** What it does, as the end of a sentence that begins with its id. */
  doing: string;
}

/** The agent's open runs that began before this one, the oldest first. `agent` was checked: it goes into a query. */
export async function openRunsBefore(client: Client, runId: string, agent: string): Promise<OpenRun[]> {
  const { startTime } = await client.workflow.getHandle(runId).describe();
  const query =
    `WorkflowType = '${WORKFLOWS.improvementRun}' AND ExecutionStatus = 'Running' ` +
    `AND ${SEARCH_ATTRIBUTES.agent} = '${agent}'`;
  const listed: string[] = [];
  for await (const info of client.workflow.list({ query })) listed.push(info.workflowId);
  const found: OpenRun[] = [];
  for (const other of new Set([...listed, ...(await runsOfSchedule(client, agent))])) {
    if (other === runId) continue;
    const run = await describeRun(client, other);
    const isEarlier =
      run !== null && (run.startedAt < startTime || (run.startedAt.getTime() === startTime.getTime() && other < runId));
    if (isEarlier) found.push(run);
  }
  return found.sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime());
}

/** Ids of the runs that the agent's schedule started last. The server's lists lag behind, and may lack them. */
async function runsOfSchedule(client: Client, agent: string): Promise<string[]> {
  try {
    const { info } = await client.schedule.getHandle(scheduleIdOf(agent)).describe();
    return info.recentActions.map(({ action }) => action.workflow.workflowId);
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return [];
    throw error;
  }
}

/** Asks the server itself. Null when the run has ended meanwhile. */
async function describeRun(client: Client, runId: string): Promise<OpenRun | null> {
  const description = await existing(client, runId);
  if (description?.status.name !== 'RUNNING') return null;
  const attribute = (name: string) => (description.searchAttributes[name] as string[] | undefined)?.[0] ?? '';
  const waiting = attribute(SEARCH_ATTRIBUTES.waiting);
  const base = { runId, startedAt: description.startTime, scheduled: description.memo?.['scheduled'] === true };
  const stage = attribute(SEARCH_ATTRIBUTES.stage) || 'prepare';
  if (waiting === 'repeated-failure')
    return { ...base, state: 'works', doing: `fails again and again in stage ${stage}` };
  if (waiting === '') return { ...base, state: 'works', doing: `is in stage ${stage}` };
  if (await isBusy(client, description))
    return { ...base, state: 'works', doing: `is in stage ${stage}, a part of which waits for an answer` };
  return waiting === 'approval'
    ? { ...base, state: 'approval', doing: 'waits for an approval' }
    : { ...base, state: 'waits', doing: `waits for an answer in stage ${stage}` };
}

/** Whether an activity of the run or of a child workflow is under way. */
async function isBusy(client: Client, { raw }: WorkflowExecutionDescription): Promise<boolean> {
  if ((raw.pendingActivities ?? []).length > 0) return true;
  for (const { workflowId, workflowTypeName } of raw.pendingChildren ?? []) {
    if (!workflowId || workflowTypeName === WORKFLOWS.deliverNotice) continue;
    const child = await existing(client, workflowId);
    if (child !== null && child.status.name === 'RUNNING' && (await isBusy(client, child))) return true;
  }
  return false;
}

async function existing(client: Client, workflowId: string): Promise<WorkflowExecutionDescription | null> {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
