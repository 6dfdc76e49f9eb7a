/** What is reported of a measured world. */
import { mean } from '../../activities/statistics/mean';
import type { Interval } from '../../contracts/artifacts/evaluation';
import { boughtRollouts, switchesLater } from '../../contracts/artifacts/router-choice';
import { MIXED } from '../../contracts/names';
import { BASE_WAY, ORACLE_WAY, type Way, type WorldWays } from './ablation';
import type { MeasuredWorld } from './measure-world';
import { ceilingOf, crossFittedOracle, ratesOf, shareOfOracle } from './outcome-figures';

const minus = (a: readonly number[], b: readonly number[]) => a.map((value, task) => value - (b[task] as number));

/** The figures of one world, from the trials of this measurement; `own` has those of the run itself. */
export function figuresOf(
  { run: { report }, table, base, served, candidate, oracle, again, againChoice }: MeasuredWorld,
  seed: number,
) {
  const share = shareOfOracle({ own: minus(served, base), oracle: minus(oracle, base) }, seed);
  const { evaluation } = report;
  const choice = evaluation?.router.choice;
  const withoutMixed = table.arms.filter((arm) => arm !== MIXED);
  return {
    base: mean(base),
    served: mean(served),
    candidate: mean(candidate),
    mixed: table.arms.includes(MIXED) ? mean(ratesOf(table, () => MIXED)) : null,
    oracle: mean(oracle),
    oracleWithoutMixed: mean(crossFittedOracle(table, withoutMixed)),
    ceiling: mean(ceilingOf(table)),
    oracleShare: share.estimate,
    low: share.low,
    routingRollouts: routingRollouts(report),
    again: { chosen: againChoice.chosen, passes: mean(again.rates), rollouts: again.rollouts },
    moves: choice ? switchesLater(choice) : false,
    router: choice?.chosen ?? null,
    promoted: report.promotedVersion !== null,
    tasks: table.seeds.length,
    trials: table.trials,
    own: {
      base: evaluation?.base.passRate.estimate,
      routed: evaluation?.routed.passRate.estimate,
      mixed: evaluation?.mixed?.passRate.estimate ?? null,
    },
    planted: report.identification.planted ?? null,
  };
}

/** Rollouts that the run bought to choose its router, those of moves with them. Null where it does not say. */
function routingRollouts({ evaluation }: MeasuredWorld['run']['report']): number | null {
  const choice = evaluation?.router.choice;
  return choice ? boughtRollouts(choice) : null;
}

/** Share of the oracle's gain that is served, over the tasks of all worlds. */
export function pooledShare(worlds: readonly MeasuredWorld[], seed: number): Interval {
  return shareOfOracle(
    {
      own: worlds.flatMap(({ served, base }) => minus(served, base)),
      oracle: worlds.flatMap(({ oracle, base }) => minus(oracle, base)),
    },
    seed,
  );
}

/** Every way of routing of a world: what it earned and what it cost. */
export function waysOf({ name, run, table, ...rates }: MeasuredWorld): WorldWays {
  const alone = (way: string, armOf: (task: number) => string, rollouts: number): Way => ({
    name: way,
    rates: ratesOf(table, armOf),
    rollouts,
  });
  const ways: Way[] = [
    { name: BASE_WAY, rates: rates.base, rollouts: 0 },
    ...table.arms.filter((arm) => arm === MIXED).map((arm) => alone('mixed adapter alone', () => arm, 0)),
    { name: 'the competition', rates: rates.candidate, rollouts: routingRollouts(run.report) },
    rates.again,
    { name: ORACLE_WAY, rates: rates.oracle, rollouts: null },
  ];
  return { world: name, ways };
}
