import { createHash } from 'node:crypto';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import type { RunContext } from '../../../contracts/messages/run-context';
import { NONE_LABEL } from '../../../contracts/names';
import { layout } from '../../../store';
import { runDeployedRollouts, samplingSeed } from '../../rollout';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { servedAdapters } from '../../rollout/served-adapter';
import type { MissingArm } from './competition';
import type { Outcome } from './known-outcomes';

/** Trials of an arm on a task. The outcome of one trial says too little (DARS, arXiv 2606.06924). */
export const ARM_TRIALS = 2;

/** The run whose arms are played. */
export interface ArmPlayers {
  context: RunContext;
  prepared: PreparedSpec;
  adapters: readonly TrainedAdapter[];
}

/** Plays arms on train tasks. Each call keeps its rollouts in a work file of its own. */
export async function playArms(
  deps: RolloutDeps,
  { context: { runId, seed: runSeed }, prepared, adapters }: ArmPlayers,
  missing: readonly MissingArm[],
): Promise<Outcome[]> {
  if (missing.length === 0) return [];
  const { model, evaluation } = prepared.spec;
  const served = await servedAdapters(deps.store, adapters);
  const nameOf = new Map([
    [NONE_LABEL, model.name],
    ...adapters.map(({ capabilityId, name }): [string, string] => [capabilityId, name]),
  ]);
  const arms = [...nameOf.keys()];
  const plans = missing.flatMap(({ seed, capabilityId }) =>
    Array.from({ length: ARM_TRIALS }, (_, trial) => ({
      seed,
      split: 'train' as const,
      // A set of rollouts tells its episodes apart by task and trial.
      trial: arms.indexOf(capabilityId) * ARM_TRIALS + trial,
      model: nameOf.get(capabilityId)!,
      samplingSeed: samplingSeed(runSeed, seed, trial),
    })),
  );
  const inputs = createHash('sha256').update(JSON.stringify(plans)).digest('hex').slice(0, 12);
  const { trajectories } = await runDeployedRollouts(deps, prepared, {
    plans,
    adapters: served,
    concurrency: evaluation.concurrency,
    workKey: layout.work(runId, `routers-${inputs}`),
    stage: 'evaluate',
    note: 'comparing routers',
  });
  const outcomes: Outcome[] = [];
  for await (const { task, trial, success } of trajectories())
    outcomes.push({ seed: task.seed, arm: arms[Math.floor(trial / ARM_TRIALS)]!, passed: success });
  return outcomes;
}
