import { Context } from '@temporalio/activity';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { RolloutSummary } from '../../contracts/artifacts/trajectory';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { conversationsOf } from '../../contracts/config/environment-kinds';
import { UNNAMED_MODEL } from '../../contracts/config/model-spec';
import type { Repetition } from '../../contracts/messages/repair';
import type { RunContext } from '../../contracts/messages/run-context';
import { tooFewConversations } from '../../contracts/too-few-conversations';
import { failure } from '../../contracts/typed-failure';
import { type ArtifactStore, collectedTraces, layout, readIngested } from '../../store';
import { readLiveTraffic, unreadableLines } from '../live-traffic';
import { Progress } from '../progress';
import { storeRollouts } from '../rollout';

const NOTHING_PLAYED = {
  async *trajectories() {},
  ...{ episodes: 0, seconds: 0, faults: [], damagedLines: 0 },
};

/**
 * Collects the conversations of an agent in place of rollouts: those that `whet ingest` has read, and the live traffic
 * that the gateway has written, each once.
 * @throws Collect.TooFewToContrast, which says about how many more are needed; the signal's reason.
 */
export async function collectConversations(
  store: ArtifactStore,
  { runId, agent }: Pick<RunContext, 'runId' | 'agent'>,
  { spec }: Pick<PreparedSpec, 'spec'>,
  repetition?: Repetition,
): Promise<RolloutSummary> {
  const ingested = await readConversations(store, agent, spec);
  const live = await readLiveTraffic(store, agent, liveOf(spec), { rollouts: 0, repetition });
  // The seed names the conversation. The id has its text, which differs where personal data was replaced.
  const known = new Set(ingested.trajectories.map(({ task }) => task.seed));
  const added = live.trajectories.filter(({ task }) => !known.has(task.seed));
  const stored = await storeRollouts(store, NOTHING_PLAYED, {
    directory: layout.trajectories(runId),
    name: 'collected.jsonl',
    stage: 'collect',
    live: [...ingested.trajectories, ...added],
  });
  const { withoutOutcome, unreadable: lines } = ingested.counts;
  const unreadable = lines + (unreadableLines(live).unreadable ?? 0);
  const { successes, failures } = stored;
  const problem = tooFewConversations({ successes, failures, withoutOutcome }, spec.identify.minEachOutcome);
  if (problem !== null) throw failure('Collect.TooFewToContrast', problem);
  return {
    ...stored,
    ingested: ingested.trajectories.length,
    ...(withoutOutcome > 0 && { withoutOutcome }),
    ...(unreadable > 0 && { unreadable }),
  };
}

/** Reads them with heartbeats, because reading many takes longer than the heartbeat timeout. */
async function readConversations(store: ArtifactStore, agent: string, { environment }: AgentSpec) {
  const note = 'reading the conversations that were ingested';
  using _ = new Progress({ stage: 'collect', unit: 'conversations', total: 0, note });
  const { most } = conversationsOf(environment) ?? {};
  const signal = Context.current().cancellationSignal;
  return readIngested(store, agent, { ...(most !== undefined && { most }), signal });
}

/** Where agent.yaml names no base model, no conversation is left out for the model that answered it. */
function liveOf({ collect: { live }, model: { name } }: AgentSpec) {
  return collectedTraces(name === UNNAMED_MODEL ? { ...live, models: 'any' } : live, name);
}
