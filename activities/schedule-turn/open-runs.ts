import {
  type Client,
  ScheduleNotFoundError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { cleanLine, startOf } from '../../contracts/clean-text';
import { REPORTED_ATTEMPTS } from '../../contracts/limits';
import type { RunProgress } from '../../contracts/messages/run';
import { MESSAGES, SEARCH_ATTRIBUTES, scheduleIdOf, WORKFLOWS } from '../../contracts/names';

/** Time limit, in milliseconds, for an open run's answer about its failures. */
const ANSWER_MS = 10_000;
/** Longest text of a failure, in characters. */
const MAX_REASON = 300;

/** temporal.api.enums.v1.PendingActivityState of an activity that waits for its next attempt. */
const BETWEEN_ATTEMPTS = 1;

type Attempt = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** A failure that keeps repeating while nothing else in its run is working. */
interface Standstill {
  /** Time of the run's last progress, according to its reports and the server, in milliseconds since 1970. */
  sinceMs: number;
  /** The failing activity and its error. */
  reason: string;
}

/** An earlier run of the agent that has not ended. */
export interface OpenRun {
  runId: string;
  startedAt: Date;
  /** Whether a schedule started it. */
  scheduled: boolean;
  /** `waits`: it only waits for an answer. `approval`: its result only waits for an approval. */
  state: 'works' | 'waits' | 'approval';
  /** Its activity, as the end of a sentence that begins with its id. */
  doing: string;
  /** Null: it makes progress, or did not answer. */
  standstill: Standstill | null;
}

/**
 * The agent's open runs that began before this one, the oldest first. `agent` is already checked, because it becomes
 * part of a query.
 */
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

/** Ids of the runs that the agent's schedule started last. The server's lists are delayed and may lack these runs. */
async function runsOfSchedule(client: Client, agent: string): Promise<string[]> {
  try {
    const { info } = await client.schedule.getHandle(scheduleIdOf(agent)).describe();
    return info.recentActions.map(({ action }) => action.workflow.workflowId);
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return [];
    throw error;
  }
}

/** Asks the server for one run. Null if the run has ended meanwhile. */
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

/** The server's descriptions of all running activities of the run and of its child workflows. */
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
 * Whether so many attempts have failed that a worker has told the run (`workers/repeated-failures.ts`), and no attempt
 * is running. A running attempt may still succeed.
 */
const failsAgain = ({ attempt, state }: Attempt): boolean =>
  (attempt ?? 1) > REPORTED_ATTEMPTS && Number(state) === BETWEEN_ATTEMPTS;

/** Last heartbeat of an attempt whose worker disappeared; 0 if the last attempt failed by itself. */
const lostAt = ({ lastFailure, lastHeartbeatTime: time }: Attempt): number =>
  lastFailure?.timeoutFailureInfo && time ? Number(time.seconds ?? 0) * 1_000 : 0;

/** Asks a run about its failures. Null if it does not answer: the run then counts as making progress. */
async function standstillOf(client: Client, runId: string, attempts: readonly Attempt[]): Promise<Standstill | null> {
  try {
    const { failing } = await client.withDeadline(Date.now() + ANSWER_MS, () =>
      client.workflow.getHandle(runId).query<RunProgress>(MESSAGES.progressQuery),
    );
    if (failing.length === 0) return null;
    const last = failing.reduce((a, b) => (b.stillSinceMs > a.stillSinceMs ? b : a));
    const reason = startOf(cleanLine(`${last.key}: ${last.reason}`), MAX_REASON);
    return { sinceMs: Math.max(last.stillSinceMs, ...attempts.map(lostAt)), reason };
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
