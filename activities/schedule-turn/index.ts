import type { Client } from '@temporalio/client';
import { agentNameSchema } from '../../contracts/config/agent-name';
import { type AgentSpec, agentSpecSchema } from '../../contracts/config/agent-spec';
import type { Turn, TurnInput } from '../../contracts/messages/run';
import { loadAgentSpec } from '../../loaders/agent-spec';
import { failure } from '../../contracts/typed-failure';
import { waitDeadlines } from '../wait-deadlines';
import { openRunsBefore, type OpenRun } from './open-runs';

/** Dependencies of `takeTurn`. */
export interface ScheduleTurnDeps {
  /** Client of the server that runs the workflows. */
  client: () => Client;
  /** WHET_WEBHOOK_URL; null if it is not set. */
  webhookUrl: string | null;
}

/**
 * Activity: how a run of a schedule begins. An open run that makes progress continues, and the new run is skipped: both
 * would do the same work. A scheduled run that only waits for an answer ends and makes room. A run that waits for
 * approval costs nothing and stays, and so does a waiting run that a person started. A run that a person started has no
 * wait deadline: if it has kept failing for longer than the deadline, the new run starts in parallel.
 */
export async function takeTurn(
  { client, webhookUrl }: ScheduleTurnDeps,
  { runId, agent, specPath }: TurnInput,
): Promise<Turn> {
  if (!agentNameSchema.safeParse(agent).success)
    throw failure('Spec.Invalid', `${JSON.stringify(agent)} is no name of an agent.`);
  return decide(await openRunsBefore(client(), runId, agent), settingsOf(specPath, webhookUrl), Date.now());
}

/** Decides whether a new run starts, given the open runs. Pure. */
function decide(open: readonly OpenRun[], settings: Pick<Turn, 'deadlines' | 'notify'>, nowMs: number): Turn {
  const longestMs = settings.deadlines.holdMs ?? Infinity;
  const isStill = ({ standstill }: OpenRun) => standstill !== null && nowMs - standstill.sinceMs >= longestMs;
  const atWork = open.find((run) => run.state === 'works' && !isStill(run));
  if (atWork !== undefined)
    return {
      ...settings,
      begins: false,
      takesOver: [],
      reason:
        `Skipped: ${atWork.runId} has not ended. It began at ${timeText(atWork.startedAt)} and ${atWork.doing}. ` +
        `\`whet why ${atWork.runId}\` says more.`,
    };
  const beside = open.map((run) => (isStill(run) ? stillText(run) : `${run.runId} ${run.doing}.`));
  return {
    ...settings,
    begins: true,
    takesOver: open.filter(({ state, scheduled }) => state === 'waits' && scheduled).map(({ runId }) => runId),
    reason: beside.length === 0 ? '' : `It began beside: ${beside.join(' ')}`,
  };
}

const stillText = ({ runId, doing, standstill }: OpenRun) =>
  `${runId} ${doing} and has not got on since ${timeText(new Date(standstill?.sinceMs ?? 0))} ` +
  `(${standstill?.reason ?? ''}), which is longer than schedule.waitDeadlineHours. \`whet why ${runId}\` says more.`;

const timeText = (date: Date) => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** Settings of agent.yaml; the defaults if it cannot be read, because `prepareRun` reports that error. */
function settingsOf(specPath: string, webhookUrl: string | null): Pick<Turn, 'deadlines' | 'notify'> {
  let spec: Pick<AgentSpec, 'gate' | 'schedule' | 'notify'>;
  try {
    spec = loadAgentSpec(specPath);
  } catch {
    const { gate, schedule, notify } = agentSpecSchema.shape;
    spec = { gate: gate.parse(undefined), schedule: schedule.parse(undefined), notify: notify.parse(undefined) };
  }
  return { deadlines: waitDeadlines(spec, true), notify: (spec.notify.webhook ?? webhookUrl) !== null };
}
