/**
 * Measures how many rollouts calibration saves by stopping when its verdict is certain, and how many more verdicts are
 * wrong. The fixed and the sequential design judge the same simulated rewards of 150 environments whose true rates are
 * known. The verdicts are computed by the service's own code. calibration saves by stopping when its verdict is
 * certain, and what that costs in wrong verdicts: both designs judge the same made-up rewards of 150 environments whose
 * true figures are known. Uses `activities/calibrate` as it is. The last line is JSON.
 *
 *     node dist/bench/calibration.js [--repetitions 200] [--seeds 100] [--rollouts 16] [--seed 1] [--svg FILE] [--out
 *     FILE]
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { calibrationDesign, type CalibrationThresholds } from '../activities/calibrate/stopping-rule';
import { agentSpecSchema } from '../contracts/config/agent-spec';
import { calibrationChart, type SuccessPoint } from './calibration/calibration-chart';
import { PROFILES } from './calibration/draw-rewards';
import { measureProfile, type ProfileResult } from './calibration/measure-calibration';

const rounded = (value: number, digits = 4) => Number(value.toFixed(digits));
const total = (results: readonly ProfileResult[], count: (result: ProfileResult) => number) =>
  results.reduce((sum, result) => sum + count(result), 0);
const rate = (results: readonly ProfileResult[], count: (result: ProfileResult) => number) =>
  results.length === 0 ? 0 : total(results, count) / total(results, ({ repetitions }) => repetitions);

/** Mean rollouts and rates of wrong verdicts over environments; `planned` is the fixed design's number of rollouts. */
function summarise(results: readonly ProfileResult[], planned: number) {
  const rollouts = rate(results, (result) => result.rollouts);
  return {
    rolloutsSequential: rounded(rollouts, 1),
    ratio: rounded(planned / rollouts, 2),
    errorFixed: rounded(rate(results, ({ wrongFixed }) => wrongFixed)),
    errorSequential: rounded(rate(results, ({ wrongSequential }) => wrongSequential)),
    designsDiffer: rounded(rate(results, ({ differ }) => differ)),
    partedByChance: rounded(
      rate(results, ({ parted }) => parted),
      6,
    ),
  };
}

function main(): void {
  const { values } = parseArgs({
    options: {
      repetitions: { type: 'string', default: '200' },
      seeds: { type: 'string', default: '100' },
      rollouts: { type: 'string', default: '16' },
      seed: { type: 'string', default: '1' },
      svg: { type: 'string' },
      out: { type: 'string' },
    },
  });
  const whole = (name: 'repetitions' | 'seeds' | 'rollouts' | 'seed'): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1)
      throw new RangeError(`--${name} ${JSON.stringify(values[name])}: a whole number above 0.`);
    return value;
  };
  const [repetitions, seeds, rolloutsPerSeed, seed] = [
    whole('repetitions'),
    whole('seeds'),
    whole('rollouts'),
    whole('seed'),
  ];
  const { seeds: _seeds, rolloutsPerSeed: _rollouts, ...band } = agentSpecSchema.shape.calibration.parse(undefined);
  const thresholds: CalibrationThresholds = { ...band, successReward: 1 };
  const design = calibrationDesign({ seeds, rolloutsPerSeed });
  const planned = seeds * rolloutsPerSeed;
  const began = Date.now();
  console.log(
    `${PROFILES.length} environments x ${repetitions} calibrations, fixed design ${seeds} x ${rolloutsPerSeed}`,
  );
  const results = PROFILES.map((profile, index) =>
    measureProfile(profile, design, thresholds, repetitions, seed * 1_000_003 + 104_729 * index),
  );
  const rates = [...new Set(PROFILES.map(({ success }) => success))];
  const points = rates.map((success): SuccessPoint => {
    const some = results.filter(({ profile }) => profile.success === success);
    const { rolloutsSequential, errorFixed, errorSequential } = summarise(some, planned);
    return { success: rounded(success, 2), rollouts: rolloutsSequential, errorFixed, errorSequential };
  });
  for (const { success, rollouts, errorFixed, errorSequential } of points) {
    console.log(
      `true success ${success.toFixed(2)}: ${rollouts} rollouts, ` +
        `wrong verdicts ${errorFixed} fixed, ${errorSequential} sequential`,
    );
  }
  const sides = {
    inBand: summarise(
      results.filter(({ inBand }) => inBand),
      planned,
    ),
    outOfBand: summarise(
      results.filter(({ inBand }) => !inBand),
      planned,
    ),
  };
  // The two designs judged the same rewards, so their wrong verdicts are compared in pairs.
  const differences = results.map(
    ({ wrongSequential, wrongFixed, repetitions: n }) => (wrongSequential - wrongFixed) / n,
  );
  const centre = differences.reduce((a, b) => a + b, 0) / differences.length;
  const half =
    (1.96 * Math.sqrt(results.reduce((sum, { differ, repetitions: n }) => sum + differ / n / n, 0))) / results.length;
  const figures = {
    name: 'calibration',
    rolloutsFixed: planned,
    ...summarise(results, planned),
    errorDifference: { estimate: rounded(centre), low: rounded(centre - half), high: rounded(centre + half) },
    ...sides,
    environments: PROFILES.length,
    repetitions,
    seconds: Math.round((Date.now() - began) / 1000),
  };
  if (values.svg !== undefined) writeFileSync(values.svg, calibrationChart(points, planned));
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify({ ...figures, points }, null, 2)}\n`);
  console.log(JSON.stringify(figures));
}

if (require.main === module) main();
