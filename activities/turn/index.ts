import type { Client } from '@temporalio/client';
import { agentNameSchema } from '../../contracts/config/agent-name';
import { type AgentSpec, agentSpecSchema } from '../../contracts/config/agent-spec';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { Turn } from '../../contracts/messages/run';
import { loadAgentSpec } from '../../loaders/agent-spec';
import { failure } from '../../contracts/typed-failure';
import { waitDeadlines } from '../wait-deadlines';
import { openRunsBefore, type OpenRun } from './open-runs';

/** What `takeTurn` needs. */
export interface TurnDeps {
  /** Client of the server that runs the workflows. */
  client: () => Client;
  /** WHET_WEBHOOK_URL; null where it is not set. */
  webhookUrl: string | null;
}

/** The activity with which a run of a schedule begins. */
export function createTurnActivities({ client, webhookUrl }: TurnDeps): Pick<OrchestrationActivities, 'takeTurn'> {
  return {
    /**
     * A run that is at work is left alone, and the new one is skipped: two at once would do the same work. One of the
     * schedule that only waits for an answer makes room. One that waits for approval costs nothing and stays, and so
     * does one that a person started. One in which for longer than a night may wait nothing gets on, because what it
     * does fails again and again, has no deadline of its own where a person started it: the new run begins beside it.
     */
    async takeTurn({ runId, agent, specPath }) {
      if (!agentNameSchema.safeParse(agent).success)
        throw failure('Spec.Invalid', `${JSON.stringify(agent)} is no name of an agent.`);
      return decide(await openRunsBefore(client(), runId, agent), settingsOf(specPath, webhookUrl), Date.now());
    },
  };
}

/** Decides about a new run beside those that are open. Pure. */
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

/** Of an agent.yaml that cannot be read the defaults: `prepareRun` says what is wrong with it. */
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
