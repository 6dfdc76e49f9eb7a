/** Measures one world: every arm and every way of routing, on the same held-out tasks. */
import { join } from 'node:path';
import { boughtRollouts, type RouterChoice } from '../../contracts/artifacts/router-choice';
import { NONE_LABEL } from '../../contracts/names';
import { routerSchema } from '../../routing/kinds';
import { getJson } from '../../store';
import type { Way } from './ablation';
import { artifactOf, type FinishedRun, finishedRun } from './finished-run';
import { decisionsOf, holdAgain } from './held-again';
import { crossFittedOracle, type OutcomeTable, ratesOf } from './outcome-figures';
import { type Extent, playArms, playServed, withPolicyServer } from './play-arms';

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
  /** The competition of this build, and how it chose. */
  again: Way;
  againChoice: RouterChoice;
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
    const router = await getJson(run.store, artifactOf(run.report, 'router'), routerSchema);
    const candidate =
      (await playServed(deps, run, { router, decisions }, options)) ??
      ratesOf(table, (task) => decisions.get(table.seeds[task]!)!);
    const served = run.report.promotedVersion === null ? base : candidate;
    const { choice: againChoice, rates } = await holdAgain(deps, run, table, options);
    const again = {
      ...{ name: `the competition, held again (${againChoice.chosen})`, rates, rollouts: boughtRollouts(againChoice) },
    };
    const oracle = crossFittedOracle(table);
    return { name, run, table, base, served, candidate, oracle, again, againChoice };
  });
}
