import {
  type Client,
  ScheduleNotFoundError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { cleanLine } from '../../contracts/clean-text';
import { REPORTED_ATTEMPTS } from '../../contracts/limits';
import type { RepeatedFailure, RunProgress } from '../../contracts/messages/run';
import { MESSAGES, SEARCH_ATTRIBUTES, scheduleIdOf, WORKFLOWS } from '../../contracts/names';

/** How long an open run may take to say what fails in it. */
const ANSWER_MS = 10_000;
/** Longest text of what fails, in characters. */
const MAX_REASON = 300;

/** temporal.api.enums.v1.PendingActivityState of an activity that waits for its next attempt. */
const BETWEEN_ATTEMPTS = 1;

type Attempt = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** What fails again and again in a run in which nothing else is under way. */
interface Standstill {
  /**
   * Since when nothing in it gets on: the last time that something did, as far as its reports and the server tell, in
   * milliseconds since 1970.
   */
  sinceMs: number;
  /** What fails, and with what. */
  reason: string;
}

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
  /** Null: something in it gets on, or cannot be asked. */
  standstill: Standstill | null;
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
  const attempts = await attemptsUnderWay(client, description);
  const base = {
    ...{ runId, startedAt: description.startTime, scheduled: description.memo?.['scheduled'] === true },
    standstill: attempts.length > 0 && attempts.every(failsAgain) ? await standstillOf(client, runId, attempts) : null,
  };
  const stage = attribute(SEARCH_ATTRIBUTES.stage) || 'prepare';
  if (waiting === 'repeated-failure')
    return { ...base, state: 'works', doing: `fails again and again in stage ${stage}` };
  if (waiting === '') return { ...base, state: 'works', doing: `is in stage ${stage}` };
  if (attempts.length > 0)
    return { ...base, state: 'works', doing: `is in stage ${stage}, a part of which waits for an answer` };
  return waiting === 'approval'
    ? { ...base, state: 'approval', doing: 'waits for an approval' }
    : { ...base, state: 'waits', doing: `waits for an answer in stage ${stage}` };
}

/** What the server says of each activity that is under way in the run and in its child workflows. */
async function attemptsUnderWay(client: Client, { raw }: WorkflowExecutionDescription): Promise<Attempt[]> {
  const attempts: Attempt[] = [...(raw.pendingActivities ?? [])];
  for (const { workflowId, workflowTypeName } of raw.pendingChildren ?? []) {
    if (!workflowId || workflowTypeName === WORKFLOWS.deliverNotice) continue;
    const child = await existing(client, workflowId);
    if (child?.status.name === 'RUNNING') attempts.push(...(await attemptsUnderWay(client, child)));
  }
  return attempts;
}

/**
 * As many attempts have failed as make a worker tell the run (`workers/repeated-failures.ts`), and none is being made.
 * One that is may work, whatever became of those before it.
 */
const failsAgain = ({ attempt, state }: Attempt): boolean =>
  (attempt ?? 1) > REPORTED_ATTEMPTS && Number(state) === BETWEEN_ATTEMPTS;

/**
 * When an attempt was last heard of whose worker then fell silent, as one that is killed: it could not say whether it
 * got on. 0 where the last attempt failed by itself.
 */
const lostAt = ({ lastFailure, lastHeartbeatTime: time }: Attempt): number =>
  lastFailure?.timeoutFailureInfo && time ? Number(time.seconds ?? 0) * 1_000 : 0;

/** Asks a run what fails in it. Null when it does not say: then nothing is known of it, and it counts as at work. */
async function standstillOf(client: Client, runId: string, attempts: readonly Attempt[]): Promise<Standstill | null> {
  try {
    const { failing = [] } = await client.withDeadline(Date.now() + ANSWER_MS, () =>
      client.workflow.getHandle(runId).query<RunProgress>(MESSAGES.progressQuery),
    );
    if (failing.length === 0) return null;
    const sinceOf = ({ sinceMs, stillSinceMs = sinceMs }: RepeatedFailure) => stillSinceMs;
    const last = failing.reduce((a, b) => (sinceOf(b) > sinceOf(a) ? b : a));
    const reason = cleanLine(`${last.key}: ${last.reason}`).slice(0, MAX_REASON);
    return { sinceMs: Math.max(sinceOf(last), ...attempts.map(lostAt)), reason };
  } catch {
    return null;
  }
}

async function existing(client: Client, workflowId: string): Promise<WorkflowExecutionDescription | null> {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
