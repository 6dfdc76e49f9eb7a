import type { Evaluation } from '../../contracts/artifacts/evaluation';
import { type BootstrapOptions, bootstrapRatio, type WeightedValue } from '../statistics/bootstrap';
import { type ArmTable, playedOf } from './outcome-table';

/**
 * Loss of `arm` against `base` among tasks that base passes in at least half of its trials.
 *
 * Selecting tasks by base's passes and comparing them on the same trials would show a loss where there is none. On the
 * selected tasks base was partly lucky, and a second measurement falls back towards the true rate (regression to the
 * mean). So the trials are split. Trial t of a task counts if base passed more than half of its *other* trials, and
 * both arms are compared only on trial t, for every t in turn. Given the task, selection and comparison are then
 * independent, and two equal arms differ by zero on average. A task has such a trial exactly when base passed at least
 * half of its trials. The figure is Σ(base - arm) / Σ1 over the counting trials; the bootstrap resamples whole tasks.
 *
 * A trial that failed in either arm is not compared, and selects nothing.
 *
 * With one trial there is nothing to split: selection and comparison share it. The bias is towards a loss, so the gate
 * errs on the side of not promoting. It is zero for an agent that does not sample.
 */
export function regressionAgainstBase(
  base: ArmTable,
  arm: ArmTable,
  options: BootstrapOptions,
): Evaluation['regression'] {
  const trials = base.passes[0]?.length ?? 0;
  const tasks: WeightedValue[] = base.passes.map((passes, task) => {
    const played = playedOf(passes);
    const total = played.reduce((a, b) => a + b, 0);
    let weight = 0;
    let lost = 0;
    passes.forEach((pass, trial) => {
      const other = arm.passes[task]?.[trial] ?? null;
      if (pass === null || other === null) return;
      const selected = trials === 1 ? pass === 1 : total - pass > (played.length - 1) / 2;
      if (!selected) return;
      weight += 1;
      lost += pass - other;
    });
    return { weight, value: weight === 0 ? 0 : lost / weight };
  });
  const selected = tasks.filter((t) => t.weight > 0).length;
  const loss = selected === 0 ? { estimate: 0, low: 0, high: 0 } : bootstrapRatio(tasks, [-1, 1], options);
  return { tasks: selected, loss, significant: selected > 0 && loss.low > 0 };
}
