/** The competition, held again on the labels and adapters of a finished run. */
import { chooseRouter } from '../../activities/evaluate/choose-router';
import { routeTasks } from '../../activities/evaluate/route-tasks';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type Interval, routingRecordSchema } from '../../contracts/artifacts/evaluation';
import { boughtRollouts, type RouterChoice, routerChoiceSchema } from '../../contracts/artifacts/router-choice';
import { MIXED, NONE_LABEL } from '../../contracts/names';
import type { CapabilityBrief } from '../../contracts/messages/run-context';
import { type Router, routerSchema } from '../../routing/kinds';
import { getJson, getLines, layout, type LocalStore, putJson } from '../../store';
import { runActivity } from '../shared/identify-without-server';
import { adaptersOf, artifactOf, type FinishedRun } from './finished-run';
import { meanOverTasks, ratesOf } from './outcome-figures';
import { type Extent, playArms, playServed, type PlayedArms, withPolicyServer } from './play-arms';

/** The arm of each held-out task. */
export type ArmOfSeed = ReadonlyMap<number, string>;

/** The result of a competition that was held again. */
export interface HeldAgain {
  choice: RouterChoice;
  /** Pass rate of each held-out task as the chosen router would serve it. */
  rates: number[];
}

/** Its figures for one run, with 95 % intervals over tasks. */
export interface HeldAgainFigures {
  name: string;
  chosen: string;
  served: Interval;
  base: Interval;
  servedMinusBase: Interval;
  /** Bought on train tasks. */
  rollouts: number;
  tasks: number;
  trials: number;
}

/** Holds the competition of a finished run again, and plays its choice on the held-out tasks. */
export function figuresHeldAgain(name: string, run: FinishedRun, extent: Extent): Promise<HeldAgainFigures> {
  return withPolicyServer(run, async (deps) => {
    const table = await playArms(deps, run, extent);
    const base = ratesOf(table, () => NONE_LABEL);
    const { choice, rates } = await holdAgain(deps, run, table, extent);
    const { seed } = run.report;
    return {
      ...{ name, chosen: choice.chosen, served: meanOverTasks(rates, seed), base: meanOverTasks(base, seed) },
      servedMinusBase: meanOverTasks(
        rates.map((rate, task) => rate - base[task]!),
        seed,
      ),
      ...{ rollouts: boughtRollouts(choice), tasks: table.seeds.length, trials: table.trials },
    };
  });
}

/** Lets the kinds compete again, and plays the choice. */
export async function holdAgain(
  deps: RolloutDeps,
  run: FinishedRun,
  table: PlayedArms,
  extent: Extent,
): Promise<HeldAgain> {
  const { router, choice } = await chooseAgain(deps, run);
  const decisions = await decide(deps, run, router);
  const rates =
    (await playServed(deps, run, { router, decisions }, extent, 'held again')) ??
    ratesOf(table, (task) => decisions.get(table.seeds[task]!)!);
  return { choice, rates };
}

async function chooseAgain(deps: RolloutDeps, run: FinishedRun): Promise<{ router: Router; choice: RouterChoice }> {
  const { store, report, context } = run;
  const { adapters, mixed } = adaptersOf(report);
  const chosen = await runActivity(chooseRouter.bind(null, deps), {
    // What it buys must not be taken for purchases of the run.
    context: { ...context, runId: `${context.runId}-again` },
    adapters,
    ...(mixed[0] && { mixed: mixed[0] }),
    capabilities: capabilitiesOf(run),
    trajectories: artifactOf(report, 'trajectories of the base agent on train tasks'),
    labels: artifactOf(report, 'labels'),
  });
  return {
    router: await getJson(store, chosen.router, routerSchema),
    choice: await getJson(store, chosen.choice, routerChoiceSchema),
  };
}

/** Asks a router about the held-out tasks. */
async function decide(deps: RolloutDeps, run: FinishedRun, router: Router): Promise<ArmOfSeed> {
  const { store, context } = run;
  const mixed = adaptersOf(run.report).mixed.map(() => ({ id: MIXED, name: MIXED, summary: MIXED }));
  const { routing } = await runActivity(routeTasks.bind(null, deps), {
    context,
    capabilities: [...capabilitiesOf(run), ...mixed],
    router: await putJson(store, layout.evaluation(context.runId), 'bench-router.json', router),
    name: 'bench-routing',
  });
  return decisionsOf(store, routing);
}

/** The capabilities that have an adapter of their own. */
function capabilitiesOf({ report }: FinishedRun): CapabilityBrief[] {
  const trained = new Set(adaptersOf(report).adapters.map(({ capabilityId }) => capabilityId));
  return report.sharpened.map(({ capability }) => capability).filter(({ id }) => trained.has(id));
}

/** The decisions in an artifact of them. */
export async function decisionsOf(store: LocalStore, routing: ArtifactRef): Promise<ArmOfSeed> {
  const records = await getLines(store, routing, routingRecordSchema);
  return new Map(records.map(({ seed, capabilityId }) => [seed, capabilityId]));
}
