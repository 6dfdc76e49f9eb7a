import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type DoNothing, doNothingSchema, reusableDoNothingSchema } from '../../contracts/artifacts/do-nothing';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { failedCount } from '../../contracts/failed-episodes';
import type { RunContext } from '../../contracts/messages/run-context';
import { isFailure } from '../../contracts/typed-failure';
import { layout, putJson } from '../../store';
import { doNothingKey } from '../reuse/content-keys';
import { keepReusable, takeReusable } from '../reuse/reuse-records';
import { doNothingModel, MOST_IDLE_TURNS, runScriptedRollouts } from '../rollout';
import type { RolloutDeps } from '../rollout/rollout-deps';

/**
 * Plays the agent that does nothing on held-out tasks, once each. Its pass rate is what a reward gives away without any
 * skill. A run with the same environment and tasks takes over what an earlier one played.
 * @returns JSON of DoNothing.
 */
export async function playDoNothing(
  deps: RolloutDeps,
  prepared: PreparedSpec,
  { runId, agent }: Pick<RunContext, 'runId' | 'agent'>,
  seeds: readonly number[],
): Promise<ArtifactRef> {
  const { store } = deps;
  const maxTurns = Math.min(MOST_IDLE_TURNS, prepared.spec.environment.maxTurns);
  const key = doNothingKey(prepared, { seeds, maxTurns });
  const put = (played: DoNothing): Promise<ArtifactRef> =>
    putJson(store, layout.evaluation(runId), 'do-nothing.json', doNothingSchema.parse(played));
  const known = await takeReusable(store, agent, key, reusableDoNothingSchema, async (record) => record);
  if (known !== null)
    return put({ outcomes: known.outcomes, ...(known.runId !== runId && { reusedFrom: known.runId }) });
  const model = doNothingModel();
  const playing = runScriptedRollouts(deps, prepared, model, {
    runId,
    plans: seeds.map((seed) => ({ seed, split: 'held-out', trial: 0, model: model.model.name, samplingSeed: 0 })),
    maxTurns,
    concurrency: prepared.spec.evaluation.concurrency,
    workKey: layout.work(runId, `do-nothing-${key.sha256.slice(0, 12)}`),
    stage: 'evaluate',
    note: 'an agent that does nothing',
    // The comparison does without it.
    mayFail: seeds.length,
  });
  // An environment may take no text, and base has shown that it works: nobody needs to be asked.
  const result = await playing.catch((error: unknown) => {
    if (isFailure(error, 'Environment.Failed') && error.nonRetryable) return null;
    throw error;
  });
  if (result === null) return put({ outcomes: [], failed: { raised: seeds.length } });
  const { trajectories, failed } = result;
  const outcomes: DoNothing['outcomes'] = [];
  for await (const { task, success } of trajectories()) outcomes.push({ seed: task.seed, passed: success });
  const lost = failedCount(failed?.byCause) > 0;
  const played = await put({ outcomes, ...(lost && { failed: { ...failed!.byCause } }) });
  // A later run plays again what failed here.
  if (!lost) await keepReusable(store, agent, key, { runId, outcomes });
  return played;
}
