import type { AdapterGain, AdapterTasks, NightPlan, Nights } from '../../contracts/artifacts/night';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { normalQuantile } from '../../contracts/statistics/normal';
import { pairedGain, type PairedTasks } from './gain-interval';
import { isEqualContent } from './night-content';
import { pair, type Passed } from './paired-arms';

/** Nights, tonight included, over which the gain of an adapter is pooled: old ones must not hide what has begun. */
const NIGHTS = 8;
/** The same for the question whether it helps at all, which has time. */
const MANY_NIGHTS = 32;
/** Fewest tasks for either verdict. */
const TASKS = 30;
const MANY_TASKS = 100;
/** An adapter whose gain on its own tasks is certainly below this does not help any more. */
const HELPFUL = 0.1;
/** Error of all verdicts about the adapters of a version on one content, however many nights look. */
const ERROR = 0.05;

/** What an adapter of the version did with the tasks that its router gave it, beside base with the same seeds. */
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
 * The gain of each adapter on its own tasks, pooled over the latest nights of the version on the same content. The k-th
 * night looks at the error `0.05 x 6 / (pi^2 k^2)`, divided among the adapters (Bonferroni), so that any verdict about
 * an adapter that neither helps nor harms is wrong with a chance of at most 0.05 while version and content stay.
 *
 * With few tasks the interval reaches less far than it should. So an adapter harms where its whole interval is below 0
 * and McNemar's exact test rejects at the same level.
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
      ...{ capabilityId: own.capabilityId, sha256: own.sha256, ...shown },
      ...{ gain: pairedGain(shown, z), confidence: 1 - error, verdict },
    };
  });
}

/** The nights without what is too old to be pooled, so that the document stays small. */
export const withoutOldTasks = (nights: Nights['nights']): Nights['nights'] =>
  nights.map(({ adapters, ...night }, place) =>
    adapters === undefined || place < nights.length - 2 * MANY_NIGHTS ? night : { ...night, adapters },
  );

const sum = (all: readonly AdapterTasks[]): PairedTasks & { passed: number } => ({
  passed: all.reduce((total, { passed }) => total + passed, 0),
  tasks: all.reduce((total, { tasks }) => total + tasks, 0),
  gained: all.reduce((total, { gained }) => total + gained, 0),
  lost: all.reduce((total, { lost }) => total + lost, 0),
});

/** Whether so few of the tasks that differ were gained has at most this chance where gain and loss are as likely. */
function isFewerExactly({ gained, lost }: PairedTasks, error: number): boolean {
  const differing = gained + lost;
  let [term, tail] = [Math.pow(0.5, differing), 0];
  for (let i = 0; i <= gained; i++) {
    tail += term;
    term *= (differing - i) / (i + 1);
  }
  return tail <= error;
}
