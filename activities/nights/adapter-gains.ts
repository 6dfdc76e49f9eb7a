import type { AdapterGain, AdapterTasks, NightPlan, Nights } from '../../contracts/artifacts/night';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { normalQuantile } from '../../contracts/statistics/normal';
import { pairedGain, type PairedTasks } from './gain-interval';
import { isEqualContent } from '../reuse/equal-content';
import { pair, type Passed } from './paired-arms';

/** Number of nights, including tonight, over which an adapter's gain is pooled. Older ones would hide a recent loss. */
const NIGHTS = 8;
/** The same number for the less urgent test of whether it helps at all. */
const MANY_NIGHTS = 32;
/** Either verdict needs at least this many tasks. */
const TASKS = 30;
const MANY_TASKS = 100;
/** An adapter no longer helps if the whole interval of its gain on its own tasks is below this. */
const HELPFUL = 0.1;
/** Total error of all verdicts about a version's adapters, over all nights with the same inputs. */
const ERROR = 0.05;

/** Results of one adapter on the tasks that the router gave it, paired with base on the same seeds. */
export function adapterTasks(
  base: Passed,
  served: Passed,
  routing: ReadonlyMap<number, string>,
  adapters: ReadonlyMap<string, string>,
): AdapterTasks[] {
  return [...adapters].map(([capabilityId, sha256]) => {
    const { paired, rates } = pair(base, served, (seed) => routing.get(seed) === capabilityId);
    return { capabilityId, sha256, passed: Math.round(rates.served * paired.tasks), ...paired };
  });
}

/**
 * The gain of each adapter on its own tasks, pooled over the latest nights of the version with the same inputs. Night k
 * tests at the error `0.05 x 6 / (pi^2 k^2)`, divided among the adapters (Bonferroni). So the chance of any wrong
 * verdict about an adapter without effect is at most 0.05 while version and inputs stay.
 *
 * With few tasks the interval is too narrow. So an adapter harms only if its whole interval is below 0 and McNemar's
 * exact test also rejects at the same level.
 */
export function adapterGains(
  tonight: readonly AdapterTasks[],
  { version, content, nights }: { version: number; content: NightPlan['content']; nights: Nights['nights'] },
): AdapterGain[] {
  const before = nights.filter(
    (night) => night.version === version && night.outcome !== null && isEqualContent(night.content, content),
  );
  const error = (1 - confidenceOfComparison(1 - ERROR, before.length + 1)) / Math.max(1, tonight.length);
  const z = normalQuantile(1 - error / 2);
  const pool = (own: AdapterTasks, most: number) => {
    const earlier = before.slice(-(most - 1)).flatMap(({ adapters = [] }) => adapters);
    return sum([
      own,
      ...earlier.filter(({ sha256, capabilityId }) => sha256 === own.sha256 && capabilityId === own.capabilityId),
    ]);
  };
  return tonight.map((own) => {
    const [pooled, many] = [pool(own, NIGHTS), pool(own, MANY_NIGHTS)];
    const gain = pairedGain(pooled, z);
    const isWorse = gain.high < 0 && isFewerExactly(pooled, error / 2);
    const verdict =
      pooled.tasks >= TASKS && isWorse
        ? 'harms'
        : many.tasks >= MANY_TASKS && pairedGain(many, z).high < HELPFUL
          ? 'no-longer-helps'
          : pooled.tasks >= TASKS && gain.low > 0
            ? 'helps'
            : 'cannot-tell';
    const shown = verdict === 'no-longer-helps' ? many : pooled;
    return {
      capabilityId: own.capabilityId,
      sha256: own.sha256,
      ...shown,
      gain: pairedGain(shown, z),
      confidence: 1 - error,
      verdict,
    };
  });
}

const sum = (all: readonly AdapterTasks[]): PairedTasks & { passed: number } => ({
  passed: all.reduce((total, { passed }) => total + passed, 0),
  tasks: all.reduce((total, { tasks }) => total + tasks, 0),
  gained: all.reduce((total, { gained }) => total + gained, 0),
  lost: all.reduce((total, { lost }) => total + lost, 0),
});

/**
 * Whether so few gains among the differing tasks have at most this probability, if a gain and a loss are equally
 * likely.
 */
function isFewerExactly({ gained, lost }: PairedTasks, error: number): boolean {
  const differing = gained + lost;
  let [term, tail] = [Math.pow(0.5, differing), 0];
  for (let i = 0; i <= gained; i++) {
    tail += term;
    term *= (differing - i) / (i + 1);
  }
  return tail <= error;
}
