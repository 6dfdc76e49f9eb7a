/**
 * Measures how often the intervals of identification contain the truth, and how often its verdicts are wrong. The
 * labels are drawn from known rates: 40 settings around the thresholds, at several sample sizes. Intervals and verdicts
 * are computed by the service's own code. The last line is JSON.
 *
 *     node dist/bench/identification-coverage.js [--repetitions 200] [--tasks 50,100,200,400] [--seed 1] [--bootstrap
 *     400] [--svg FILE]
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { VerdictRule } from '../activities/identify/verdicts/verdict-rule';
import { SETTINGS, type TrueRates } from './identification-coverage/draw-labels';
import { errorRateChart } from './identification-coverage/error-rate-chart';
import {
  isClear,
  measureSetting,
  oughtToBeKept,
  QUANTITIES,
  type Quantity,
  type SettingResult,
} from './identification-coverage/measure-verdicts';

const RULE: VerdictRule = { minGap: 0.2, minCoverage: 0.1, runs: 10, quorum: 8, familywiseError: 0.05 };
const CANDIDATES = 10;
const DESIGN = { trials: 2, runs: RULE.runs, failureRate: 0.5, taskShare: 0.3, noise: 0.1 };
/** Settings without a gap, at several rates. The familywise error limits how often these are kept. */
const NULLS: TrueRates[] = [0.15, 0.3, 0.5].map((rate) => ({
  errorRateSuccess: rate,
  errorRateFailure: rate,
  coverage: 0.14,
}));

interface Options {
  tasks: number[];
  repetitions: number;
  seed: number;
  bootstrap: number;
}

const rounded = (value: number) => Number(value.toFixed(4));
const total = (results: readonly SettingResult[], count: (r: SettingResult) => number) =>
  results.reduce((sum, r) => sum + count(r), 0);
const rate = (results: readonly SettingResult[], count: (r: SettingResult) => number) =>
  rounded(
    total(results, count) /
      Math.max(
        1,
        total(results, (r) => r.repetitions),
      ),
  );

function summarise(tasks: number, results: readonly SettingResult[], nulls: readonly SettingResult[]) {
  const coverage = Object.fromEntries(
    QUANTITIES.map((name) => [
      name,
      rounded(total(results, (r) => r.covered[name]) / total(results, (r) => r.made[name])),
    ]),
  ) as Record<Quantity, number>;
  const within = (name: Quantity) =>
    results.filter((r) => r.covered[name] >= 0.93 * r.made[name] && r.covered[name] <= 0.97 * r.made[name]).length;
  const bad = results.filter(({ truth }) => !oughtToBeKept(truth, RULE));
  const good = results.filter(({ truth }) => oughtToBeKept(truth, RULE));
  const clearly = (some: readonly SettingResult[]) => some.filter(({ truth }) => isClear(truth, RULE));
  return {
    tasks,
    trajectories: tasks * DESIGN.trials,
    failures: tasks * DESIGN.trials * DESIGN.failureRate,
    coverage,
    settingsWithin: { gap: within('gap'), coverage: within('coverage') },
    percentileBootstrapGap: rounded(
      total(results, (r) => r.percentile.covered) /
        Math.max(
          1,
          total(results, (r) => r.percentile.made),
        ),
    ),
    falseKeeps: rate(bad, (r) => r.verdicts.kept),
    falseKeepsByEstimatesAlone: rate(bad, (r) => r.keptByEstimates),
    falseKeepsClear: rate(clearly(bad), (r) => r.verdicts.kept),
    falseDrops: rate(good, (r) => r.verdicts.rejected),
    falseDropsByEstimatesAlone: rate(good, (r) => r.repetitions - r.keptByEstimates),
    falseDropsClear: rate(clearly(good), (r) => r.verdicts.rejected),
    keptClear: rate(clearly(good), (r) => r.verdicts.kept),
    undecided: rate(results, (r) => r.verdicts['not-enough-data']),
    keptWithoutGap: rate(nulls, (r) => r.verdicts.kept),
    runsMade: rounded(total(results, (r) => r.runsMade) / total(results, (r) => r.repetitions)),
  };
}
export type SizeSummary = ReturnType<typeof summarise>;

function main(): void {
  const { values } = parseArgs({
    options: {
      repetitions: { type: 'string', default: '200' },
      tasks: { type: 'string', default: '50,100,200,400' },
      seed: { type: 'string', default: '1' },
      bootstrap: { type: 'string', default: '400' },
      svg: { type: 'string' },
    },
  });
  const options: Options = {
    tasks: values.tasks.split(',').map(Number),
    repetitions: Number(values.repetitions),
    seed: Number(values.seed),
    bootstrap: Number(values.bootstrap),
  };
  for (const [name, value] of [
    ['tasks', options.tasks],
    ['repetitions', [options.repetitions]],
  ] as const) {
    if (value.some((v) => !Number.isInteger(v) || v < 1))
      throw new RangeError(`--${name} ${JSON.stringify(values[name])}: whole numbers above 0.`);
  }
  const began = Date.now();
  console.log(
    `${SETTINGS.length} settings x ${options.repetitions} repetitions, ` +
      `${DESIGN.runs} labelling runs, ${DESIGN.trials} trials a task`,
  );
  const sizes = options.tasks.map((tasks) => {
    const measure = (truths: readonly TrueRates[], offset: number, bootstrapSamples: number) =>
      truths.map((truth, i) =>
        measureSetting(truth, {
          design: { ...DESIGN, tasks },
          rule: RULE,
          candidates: CANDIDATES,
          repetitions: options.repetitions,
          seed: options.seed * 1_000_003 + tasks * 1_009 + offset + i,
          bootstrapSamples,
        }),
      );
    const size = summarise(tasks, measure(SETTINGS, 0, options.bootstrap), measure(NULLS, 500, 0));
    const { coverage, settingsWithin } = size;
    console.log(
      `${size.trajectories} trajectories: coverage of ER- ${coverage.errorRateFailure}, ` +
        `ER+ ${coverage.errorRateSuccess}, gap ${coverage.gap} ` +
        `(percentile bootstrap ${size.percentileBootstrapGap}), coverage ${coverage.coverage}; ` +
        `settings within 93-97 %: gap ${settingsWithin.gap}, coverage ${settingsWithin.coverage}; ` +
        `false keeps ${size.falseKeeps} (estimates alone ${size.falseKeepsByEstimatesAlone}), ` +
        `false drops ${size.falseDrops} (${size.falseDropsByEstimatesAlone}), ` +
        `undecided ${size.undecided}, kept without a gap ${size.keptWithoutGap}, runs made ${size.runsMade}`,
    );
    return size;
  });
  if (values.svg !== undefined) writeFileSync(values.svg, errorRateChart(sizes));
  console.log(
    JSON.stringify({
      name: 'identification-coverage',
      settings: SETTINGS.length,
      repetitions: options.repetitions,
      seconds: Math.round((Date.now() - began) / 1000),
      sizes,
    }),
  );
}

if (require.main === module) main();
