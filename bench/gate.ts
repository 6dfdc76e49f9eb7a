/**
 * How often the gate is wrong, and how small a gain it finds. Outcomes are made up, with a truth that is known; the
 * statistics and the gate are the service's own. Measured are candidates that are exactly as good as the active version
 * (A/A), candidates that are better by so many points, candidates trained for too short a time (better than base, worse
 * than the active version), and whether the minimum detectable gain that a run states is right. Judged as the first
 * comparison with the active version, or as a later one. The last line is JSON. Exit code 1: more than 5 % of the A/A
 * candidates were promoted.
 *
 *     node dist/bench/gate.js [--repetitions 1000] [--tasks 420] [--trials 2] [--comparison 1] [--seed 1]
 *     [--svg FILE]
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { minimumDetectableGain } from '../contracts/statistics/minimum-detectable-gain';
import { judgedConfidence, promotedShare } from './gate/measure-gate';
import { powerChart } from './gate/power-chart';

const POINTS = [1, 2, 3, 5, 8, 10] as const;
/** A curve needs fewer repetitions than a rare mistake. */
const CURVE_SHARE = 0.3;
/** Most promotions of candidates that are as good as the active version. */
const MOST_FALSE = 0.05;
/** What an adapter trained for too short a time lacks, in points. */
const TOO_SHORT = -10;
/** Mean of p (1 - p) where p is uniform, as base's is here. */
const WITHIN_TASK = 1 / 6;

const rounded = (value: number, digits = 4) => Number(value.toFixed(digits));

function main(): void {
  const { values } = parseArgs({
    options: {
      repetitions: { type: 'string', default: '1000' },
      tasks: { type: 'string', default: '420' },
      trials: { type: 'string', default: '2' },
      comparison: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      svg: { type: 'string' },
    },
  });
  const whole = (name: 'repetitions' | 'tasks' | 'trials' | 'comparison' | 'seed'): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1)
      throw new RangeError(`--${name} ${JSON.stringify(values[name])}: a whole number above 0.`);
    return value;
  };
  const [repetitions, tasks, trials] = [whole('repetitions'), whole('tasks'), whole('trials')];
  const comparison = whole('comparison');
  const few = Math.max(1, Math.round(repetitions * CURVE_SHARE));
  const began = Date.now();
  let block = whole('seed') * 1_000_003;
  /** Share of promotions among candidates with this true gain, in points. */
  const measure = (what: string, incumbent: boolean, points: number, times: number): number => {
    const share = promotedShare(
      { tasks, trials, incumbent, gain: points / 100, comparison },
      times,
      (block += 104_729),
    );
    console.log(`${what}: ${(share * 100).toFixed(1)} % of ${times} promoted`);
    return rounded(share);
  };
  const falsePromotionShare = measure('as good as the active version', true, 0, repetitions);
  const falsePromotionShareOverBase = measure('as good as base, no version active', false, 0, few);
  const tooShortPromoted = measure('better than base, 10 points worse than the active version', true, TOO_SHORT, few);
  const power = POINTS.map((points) => ({
    points,
    share: measure(`${points} points better than the active version`, true, points, few),
  }));
  const stated =
    minimumDetectableGain({ tasks, trials, confidence: judgedConfidence(comparison), withinTask: WITHIN_TASK }) * 100;
  const atStated = measure(`${stated.toFixed(1)} points better than base, the stated minimum`, false, stated, few);
  if (values.svg !== undefined)
    writeFileSync(values.svg, powerChart([{ points: 0, share: falsePromotionShare }, ...power], { tasks, trials }));
  console.log(
    JSON.stringify({
      name: 'gate',
      falsePromotionShare,
      power: Object.fromEntries(power.map(({ points, share }) => [points, share])),
      tooShortPromoted,
      falsePromotionShareOverBase,
      statedMinimum: { points: rounded(stated, 1), share: atStated },
      tasks,
      trials,
      comparison,
      repetitions,
      seconds: Math.round((Date.now() - began) / 1000),
    }),
  );
  if (falsePromotionShare > MOST_FALSE) process.exitCode = 1;
}

if (require.main === module) main();
