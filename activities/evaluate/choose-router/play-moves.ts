import { createHash } from 'node:crypto';
import type { LaterMessages } from '../../../contracts/artifacts/router-choice';
import { NONE_LABEL } from '../../../contracts/names';
import { layout } from '../../../store';
import { runDeployedRollouts, samplingSeed } from '../../rollout';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { servedAdapters } from '../../rollout/served-adapter';
import { modelForLaterTurns } from '../model-for-later-turns';
import { type Moving, nameOfMoving } from './moves';
import { ARM_TRIALS, type ArmPlayers } from './play-arms';

/** Passes (1) and failures (0) of each conversation that may change its adapter, by `nameOfMoving`. */
export async function playMoving(
  deps: RolloutDeps,
  { context: { runId, seed: runSeed }, prepared, adapters }: ArmPlayers,
  reads: LaterMessages,
  moving: readonly Moving[],
): Promise<Map<string, number[]>> {
  const { model, evaluation } = prepared.spec;
  const nameOf = new Map(adapters.map(({ capabilityId, name }) => [capabilityId, name]));
  const plans = moving.flatMap(({ way, seed, opening, reader }) => {
    const first = opening === NONE_LABEL ? model.name : nameOf.get(opening)!;
    return Array.from({ length: ARM_TRIALS }, (_, trial) => ({
      seed,
      split: 'train' as const,
      // A set of rollouts tells its episodes apart by task and trial.
      trial: way === 'moves' ? trial : ARM_TRIALS + trial,
      model: first,
      samplingSeed: samplingSeed(runSeed, seed, trial),
      modelAfter: modelForLaterTurns(reader, adapters, first),
    }));
  });
  const destinations = moving.map(({ to }) => nameOf.get(to));
  const inputs = createHash('sha256')
    .update(JSON.stringify([reads, plans, destinations]))
    .digest('hex')
    .slice(0, 12);
  const { trajectories } = await runDeployedRollouts(deps, prepared, {
    plans,
    adapters: await servedAdapters(deps.store, adapters),
    concurrency: evaluation.concurrency,
    workKey: layout.work(runId, `later-turns-${inputs}`),
    stage: 'evaluate',
    note: 'comparing moves at later turns',
  });
  const passes = new Map<string, number[]>();
  for await (const { task, trial, success } of trajectories()) {
    const name = nameOfMoving({ seed: task.seed, way: trial < ARM_TRIALS ? 'moves' : 'first' });
    passes.set(name, [...(passes.get(name) ?? []), success ? 1 : 0]);
  }
  return passes;
}
