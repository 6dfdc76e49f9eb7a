/**
 * Simulates the canary's sequential test: how often it rolls back a canary that is as good as its control, and after
 * how many conversations (both arms together) it rolls back one that is worse. The last line is JSON.
 *
 *     node dist/bench/gateway-canary.js [--weeks 1000] [--conversations 20000] [--rate 0.8] [--loss 0.05]
 */
import { parseArgs } from 'node:util';
import { seededRandom } from '../activities/statistics/random';
import { simulateCanary } from './gateway-canary/simulate-canary';
import { percentile } from './shared/percentile';

const SHARES = [0.05, 0.1, 0.2, 0.5];
const FALSE_ROLLBACK = 0.05;
const REPEATS = 200;
const LONGEST = 200_000;

function main(): void {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: { weeks: string('1000'), conversations: string('20000'), rate: string('0.8'), loss: string('0.05') },
  });
  const [weeks, conversations, rate, loss] = [values.weeks, values.conversations, values.rate, values.loss].map(
    Number,
  ) as [number, number, number, number];
  const rows = SHARES.map((share) => {
    const same = { share, falseRollback: FALSE_ROLLBACK, activeRate: rate, canaryRate: rate, conversations };
    let falseRollbacks = 0;
    for (let week = 0; week < weeks; week++)
      if (simulateCanary(same, seededRandom(week + 1)) !== null) falseRollbacks += 1;
    const worse = { ...same, canaryRate: rate - loss, conversations: LONGEST };
    const needed = Array.from(
      { length: REPEATS },
      (_, i) => simulateCanary(worse, seededRandom(1_000_000 + i)) ?? Infinity,
    );
    const row = {
      share,
      falseRollbacks: falseRollbacks / weeks,
      median: percentile(needed, 0.5),
      p90: percentile(needed, 0.9),
    };
    console.log(
      `share ${share}: ${falseRollbacks} of ${weeks} equal weeks rolled back; ` +
        `a loss of ${loss * 100} points after ${row.median} conversations (median), ${row.p90} (nine in ten)`,
    );
    return row;
  });
  console.log(
    JSON.stringify({
      name: 'gateway-canary',
      weeks,
      conversationsPerWeek: conversations,
      rate,
      loss,
      falseRollback: FALSE_ROLLBACK,
      shares: rows,
    }),
  );
}

main();
