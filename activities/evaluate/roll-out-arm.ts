import { createHash } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { routingRecordSchema } from '../../contracts/artifacts/evaluation';
import type { EvaluationArmInput, ArmRollouts } from '../../contracts/messages/evaluate-stage';
import { NONE_LABEL } from '../../contracts/names';
import { type LaterTurnsReader, openLaterTurns } from '../../routing/later-turns';
import { countCauses, sumFailed } from '../../contracts/failed-episodes';
import { failure } from '../../contracts/typed-failure';
import { getJson, getLines, layout } from '../../store';
import { readPreparedSpec } from '../prepared-spec';
import { runDeployedRollouts, samplingSeed, storeRollouts } from '../rollout';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { servedAdapters } from '../rollout/served-adapter';
import { playDoNothing } from './play-do-nothing';
import { modelForLaterTurns } from './model-for-later-turns';
import { expandSeedRanges } from './expand-seed-ranges';
import { routerSchema } from '../../routing/kinds';

/**
 * Activity: rolls one arm out over the held-out tasks, or over the given train tasks. Every arm meets the same tasks
 * with the same sampling seeds, so that differences between arms are paired. Beside base, an agent that does nothing
 * plays the held-out tasks.
 * @throws RangeError for an arm without the adapter or the routing that its kind needs.
 */
export async function rollOutArm(deps: RolloutDeps, input: EvaluationArmInput): Promise<ArmRollouts> {
  const { arm, kind, adapters } = input;
  const { runId, seed } = input.context;
  const prepared = await readPreparedSpec(deps.store, input.context.spec);
  const { environment, model, evaluation } = prepared.spec;
  const served = await servedAdapters(deps.store, adapters).catch((error: unknown) => {
    throw input.incumbent === undefined ? error : incumbentDamaged(input.incumbent, error);
  });
  const { modelOf, unrouted } = await modelChooser(deps, input, model.name);
  const laterTurns = await laterTurnsOf(deps, input);
  const { train, night, heldOut } = input;
  const trials = train ? 1 : (heldOut?.trials ?? evaluation.trials);
  const split = train ? ('train' as const) : ('held-out' as const);
  const seeds = expandSeedRanges(train ?? heldOut?.seeds ?? [environment.heldOutSeeds]);
  const plans = seeds
    .filter((taskSeed) => !unrouted.has(taskSeed))
    .flatMap((taskSeed) =>
      Array.from({ length: trials }, (_, trial) => ({
        seed: taskSeed,
        split,
        trial,
        model: modelOf(taskSeed),
        samplingSeed: samplingSeed(seed, taskSeed, trial, night),
        ...(laterTurns && { modelAfter: modelForLaterTurns(laterTurns, adapters, modelOf(taskSeed)) }),
      })),
    );
  const fileName = `arm-${arm.replace(/[^A-Za-z0-9.-]+/g, '-')}`;
  // The same arm with other adapters or another routing has its own rollouts.
  const inputs = createHash('sha256')
    .update(
      JSON.stringify([
        kind,
        served.map(({ name }) => name),
        input.routing?.sha256,
        ...(laterTurns ? [input.router?.sha256] : []),
        ...(night === undefined ? [] : [night]),
      ]),
    )
    .digest('hex');
  const rolledOut = await runDeployedRollouts(deps, prepared, {
    runId,
    plans,
    adapters: served,
    concurrency: evaluation.concurrency,
    workKey: layout.work(runId, `${fileName}-${inputs.slice(0, 12)}`),
    stage: train ? 'collect' : 'evaluate',
    note: arm,
  });
  const rollouts = await storeRollouts(deps.store, rolledOut, {
    directory: layout.evaluation(runId),
    name: `${fileName}.jsonl`,
    stage: train ? 'collect' : 'evaluate',
  });
  if (kind === 'base' && !train)
    return { arm, kind, rollouts, doNothing: await playDoNothing(deps, prepared, input.context, seeds) };
  if (unrouted.size === 0) return { arm, kind, rollouts };
  const causes = [...unrouted.values()].flatMap((cause) => Array<string>(trials).fill(cause));
  const failed = sumFailed([rollouts.failed, countCauses(causes)]);
  return { arm, kind, rollouts: { ...rollouts, episodes: rollouts.episodes + causes.length, failed } };
}

/** The reader that makes conversations of this arm switch adapters; null: they keep theirs. */
async function laterTurnsOf(
  { store }: RolloutDeps,
  { router, adapters }: EvaluationArmInput,
): Promise<LaterTurnsReader | null> {
  if (router === undefined) return null;
  return openLaterTurns(
    await getJson(store, router, routerSchema),
    adapters.map(({ capabilityId }) => capabilityId),
  );
}

/** Only the run that made a damaged adapter of the active version can repair it, not this run. */
function incumbentDamaged({ version, runId }: NonNullable<EvaluationArmInput['incumbent']>, error: unknown): unknown {
  if (!(error instanceof ApplicationFailure) || error.type !== 'Store.Corrupt') return error;
  return failure(
    'Evaluate.IncumbentDamaged',
    `The active version ${version}, made by ${runId}, cannot be judged: ${error.message}`,
    { cause: error },
  );
}

/** The model of each task, and the tasks that the router could not read, with what failed in them. */
async function modelChooser(
  { store }: RolloutDeps,
  { arm, kind, adapters, routing }: EvaluationArmInput,
  base: string,
): Promise<{ modelOf: (seed: number) => string; unrouted: ReadonlyMap<number, string> }> {
  const unrouted = new Map<number, string>();
  if (kind === 'base') return { modelOf: () => base, unrouted };
  if (kind !== 'routed' && kind !== 'incumbent') {
    const [adapter, ...others] = adapters;
    if (!adapter || others.length > 0)
      throw new RangeError(`Arm ${arm} of kind ${kind} needs exactly one adapter, not ${adapters.length}.`);
    return { modelOf: () => adapter.name, unrouted };
  }
  if (!routing) throw new RangeError(`Arm ${arm} of kind ${kind} needs a routing artifact.`);
  const byCapability = new Map(adapters.map((adapter) => [adapter.capabilityId, adapter.name]));
  const records = await getLines(store, routing, routingRecordSchema);
  const chosen = new Map(records.map((record) => [record.seed, record.capabilityId]));
  for (const { seed, failedBecause } of records) if (failedBecause !== undefined) unrouted.set(seed, failedBecause);
  const modelOf = (seed: number): string => {
    const capability = chosen.get(seed);
    if (capability === undefined)
      throw new RangeError(`The routing artifact ${routing.key} has no decision for task ${seed}.`);
    return capability === NONE_LABEL ? base : (byCapability.get(capability) ?? base);
  };
  return { modelOf, unrouted };
}
