/** What rollouts bought: after each step of the competition, the gain of the best kind and that of the oracle. */
import type { Spending } from '../../../contracts/artifacts/router';
import { MIXED, NONE_LABEL } from '../../../contracts/names';
import { mean, meanOrZero } from '../../statistics/mean';
import { type Decisions, standardErrorOf } from './competition';
import type { KnownOutcomes } from './known-outcomes';
import type { RoutingTask } from './routing-task';

/** Fewest other tasks of the same needs by which an arm is guessed; with fewer, all other tasks. */
const LEAST_ALIKE = 5;

/**
 * What is known of the best kind and of the oracle. `order` is the drawn order of tasks or a beginning of it: judged
 * are its tasks up to the first of which the kind's choice was not played, since only a beginning is a random sample.
 */
export function spendingAfter(
  spent: Pick<Spending, 'step' | 'rollouts'>,
  best: Decisions,
  order: readonly number[],
  tasks: readonly RoutingTask[],
  known: KnownOutcomes,
): Spending {
  const rateOf = (task: number, arm: string) => known.rate(tasks[task]!.seed, arm);
  const unknown = order.findIndex((task) => rateOf(task, best.chosen[task]!) === null);
  const judged = unknown < 0 ? order : order.slice(0, unknown);
  const baseOf = (task: number) => rateOf(task, NONE_LABEL) ?? 0;
  const gains = judged.map((task) => rateOf(task, best.chosen[task]!)! - baseOf(task));
  const oracle = oracleRates(
    judged.map((task) => tasks[task]!),
    [NONE_LABEL, ...new Set(tasks.flatMap(({ needs }) => needs)), MIXED],
    known,
  );
  return {
    ...spent,
    kind: best.kind,
    tasks: judged.length,
    gain: meanOrZero(gains),
    standardError: standardErrorOf(gains),
    oracleGain: meanOrZero(oracle.map((rate, i) => rate - baseOf(judged[i]!))),
  };
}

/**
 * Rate of the best arm of each task, of those that were played on it: chosen by the task's other trials and, as one
 * trial more, by the arm's rate on other tasks with the same needs, and scored on the trial that the choice did not
 * see. It is `activities/evaluate/oracle.ts` for arms that were not all played on all tasks, nor equally often.
 */
export function oracleRates(
  tasks: readonly Pick<RoutingTask, 'seed' | 'needs'>[],
  arms: readonly string[],
  known: KnownOutcomes,
): number[] {
  const groups = tasks.map(({ needs }) => needs.join(' '));
  const rates = arms.map((arm) => tasks.map(({ seed }) => known.rate(seed, arm)));
  return tasks.map(({ seed }, task) => {
    const candidates = arms.flatMap((arm, a) => {
      const passes = known.of(seed, arm);
      return passes.length === 0 ? [] : [{ passes, prior: priorOf(rates[a]!, groups, task) }];
    });
    const splits = Math.max(0, ...candidates.map(({ passes }) => passes.length));
    const scores = Array.from({ length: splits }, (_, split) => {
      let best = { score: -Infinity, passed: 0 };
      for (const { passes, prior } of candidates) {
        const passed = passes[split % passes.length]!;
        const others = passes.reduce((sum, pass) => sum + pass, -passed);
        const score = (others + prior) / passes.length;
        if (score > best.score + 1e-12) best = { score, passed };
      }
      return best.passed;
    });
    return meanOrZero(scores);
  });
}

/** An arm's rate on other tasks with the same needs. */
function priorOf(rates: readonly (number | null)[], groups: readonly string[], task: number): number {
  const others = (alike: boolean) =>
    rates.flatMap((rate, other) =>
      rate === null || other === task || (alike && groups[other] !== groups[task]) ? [] : [rate],
    );
  const same = others(true);
  return same.length >= LEAST_ALIKE ? mean(same) : meanOrZero(others(false));
}
