/** Measures one world: every arm and every way of routing, on the same held-out tasks. */
import { join } from 'node:path';
import { type CompetitionRouter, type RouterChoice, routerSchema } from '../../contracts/artifacts/router';
import { NONE_LABEL } from '../../contracts/names';
import { getJson } from '../../store';
import type { Way } from './ablation';
import { artifactOf, type FinishedRun, finishedRun } from './finished-run';
import { crossFittedOracle, type OutcomeTable, ratesOf } from './outcome-figures';
import { outcomesAlone } from './outcomes-alone';
import { type Extent, playArms, playMerged, playServed, withPolicyServer } from './play-arms';
import { type ChosenRouter, routerSteps } from './router-steps';
import { chooseAgain, decide, decisionsOf, type RouterAlone, routersAlone } from './routers-alone';

/** What is measured, and where runs are kept. */
export interface MeasureOptions extends Extent {
  seed: number;
  home: string;
  /** Longest time of a run. */
  minutes: number;
}

/** One world's table, with the rates of what was served and of the oracle, task by task. */
export interface MeasuredWorld {
  name: string;
  run: FinishedRun;
  table: OutcomeTable;
  base: number[];
  /** What the run would serve: its routed arm where it was promoted, else base. */
  served: number[];
  candidate: number[];
  oracle: number[];
  routers: RouterAlone[];
  /** Routers that learn from outcomes, alone. */
  outcomes: Way[];
  /** Merged adapters alone, by name. */
  merged: ReadonlyMap<string, number[]>;
  /** What the competition of this build would serve, and how it chose. */
  again: Way;
  againChoice: RouterChoice;
  /** What follows the router's choice for an opening. */
  steps: Way[];
}

/** Makes or finds the run of a world, and plays it. @throws Error when the run has no adapter to evaluate. */
export async function measureWorld(name: string, agentPath: string, options: MeasureOptions): Promise<MeasuredWorld> {
  const { seed, minutes } = options;
  const run = await finishedRun({ agentPath, home: join(options.home, name), seed, minutes });
  if (run.report.evaluation === null)
    throw new Error(`${name}: the run ended with "${run.report.verdict}" and has no adapter to evaluate.`);
  return withPolicyServer(run, async (deps) => {
    const table = await playArms(deps, run, options);
    const decisions = await decisionsOf(run.store, artifactOf(run.report, 'routing decisions'));
    const base = ratesOf(table, () => NONE_LABEL);
    const router = await routerOf(run);
    const candidate =
      (await playServed(deps, run, { router, decisions }, options)) ??
      ratesOf(table, (task) => decisions.get(table.seeds[task]!)!);
    const served = run.report.promotedVersion === null ? base : candidate;
    const routers = await routersAlone(deps, run);
    const merged = await playMerged(deps, run, options);
    const outcomes = await outcomesAlone(run, table);
    const own = chosenRouter(run, router);
    const steps = await routerSteps(deps, run, own ?? routers[0]!, table, options, own && candidate);
    const { router: anew, choice: againChoice } = await chooseAgain(deps, run, 'auto');
    const arms = await decide(deps, run, anew);
    const again = {
      name: `the competition, held again (${againChoice.chosen})`,
      rates:
        (await playServed(deps, run, { router: anew, decisions: arms }, options, 'held again')) ??
        ratesOf(table, (task) => arms.get(table.seeds[task]!)!),
      rollouts: againChoice.rollouts + (againChoice.laterTurns?.rollouts ?? 0),
    };
    const oracle = crossFittedOracle(table);
    return { name, run, table, base, served, candidate, oracle, routers, outcomes, merged, steps, again, againChoice };
  });
}

/** Reports from before conversations could move do not name it. */
function routerOf({ store, report }: FinishedRun): Promise<CompetitionRouter | null> {
  const ref = report.artifacts.find(({ role }) => role === 'router')?.ref;
  return ref ? getJson(store, ref, routerSchema) : Promise.resolve(null);
}

/** The router that the competition chose; null where it chose one arm for everything. */
function chosenRouter({ report }: FinishedRun, router: CompetitionRouter | null): ChosenRouter | null {
  if (router === null || router.kind === 'base' || router.kind === 'mixed') return null;
  return { router, choice: report.evaluation?.router.choice ?? undefined };
}
