import type { RandomSource } from '../../activities/statistics/random';
import type { TaskSums } from '../../activities/identify/verdicts/task-sums';

/**
 * The plain percentile bootstrap over tasks, for comparison: a 95 % interval of the gap, with all runs pooled. Null
 * when no resample has both rates.
 */
export function percentileGap(
  sums: TaskSums,
  random: RandomSource,
  samples: number,
): { low: number; high: number } | null {
  const { tasks, runs } = sums;
  const cells = [sums.failureLacking, sums.failureApplicable, sums.successLacking, sums.successApplicable].map(
    (all) => {
      const pooled = new Float64Array(tasks);
      for (let run = 0; run < runs; run++) for (let t = 0; t < tasks; t++) pooled[t]! += all[run * tasks + t]!;
      return pooled;
    },
  ) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const [fl, fa, sl, sa] = cells;
  const gaps: number[] = [];
  for (let s = 0; s < samples; s++) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < tasks; i++) {
      const t = random.below(tasks);
      a += fl[t]!;
      b += fa[t]!;
      c += sl[t]!;
      d += sa[t]!;
    }
    if (b > 0 && d > 0) gaps.push(a / b - c / d);
  }
  if (gaps.length === 0) return null;
  gaps.sort((x, y) => x - y);
  const at = (p: number) => gaps[Math.round(p * (gaps.length - 1))]!;
  return { low: at(0.025), high: at(0.975) };
}
