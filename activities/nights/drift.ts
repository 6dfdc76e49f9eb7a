import type { CapabilityDrift, LackCount, NightPlan, Nights } from '../../contracts/artifacts/night';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { normalQuantile } from '../../contracts/statistics/normal';
import { isEqualContent } from '../reuse/equal-content';

/** Number of nights, including tonight, in the test for a trend. */
const NIGHTS = 8;
/** Fewest nights for a test: with fewer, a single night would determine the trend. */
const LEAST_NIGHTS = 5;
/** Fewest lacking tasks, and fewest other tasks, in these nights: with fewer the normal approximation is poor. */
const LEAST_TASKS = 10;
/** Total error of all reported drifts while version and inputs stay, over all nights. */
const ERROR = 0.05;

type Lacks = Pick<Nights['nights'][number], 'version' | 'content' | 'outcome' | 'lack'>;

/**
 * Capabilities that are lacking in a growing share of the tasks. The test is the Cochran-Armitage test for a trend:
 * one-sided, with a continuity correction, over the last 8 nights of the version with the same inputs. The first test
 * is in the fifth night. Test k has the error `0.05 x 6 / (pi^2 k^2)`, divided among the capabilities of the night
 * (Bonferroni). So the chance of any wrongly reported drift is at most 0.05 while version and inputs stay.
 */
export function driftsOf(
  tonight: readonly LackCount[],
  { version, content, nights }: { version: number; content: NightPlan['content']; nights: readonly Lacks[] },
): CapabilityDrift[] {
  const before = nights.filter(
    (night) => night.version === version && night.outcome !== null && isEqualContent(night.content, content),
  );
  const look = before.length + 2 - LEAST_NIGHTS;
  if (look < 1) return [];
  const error = (1 - confidenceOfComparison(1 - ERROR, look)) / Math.max(1, tonight.length);
  const window = [...before.slice(1 - NIGHTS).map(({ lack = [] }) => lack), tonight];
  return tonight.flatMap(({ capabilityId }) => {
    const counts = window.flatMap((lacks, night) =>
      lacks.flatMap((one) => (one.capabilityId === capabilityId && one.tasks > 0 ? [{ ...one, night }] : [])),
    );
    if (counts.length < LEAST_NIGHTS || trend(counts) < normalQuantile(1 - error)) return [];
    const half = Math.floor(counts.length / 2);
    return [
      {
        capabilityId,
        nights: counts.length,
        tasks: sum(counts, ({ tasks }) => tasks),
        earlier: share(counts.slice(0, half)),
        later: share(counts.slice(-half)),
        confidence: 1 - error,
      },
    ];
  });
}

interface NightCount {
  night: number;
  tasks: number;
  lacking: number;
}

/** Standard score of the trend; positive if more tasks are lacking in later nights. 0 with too few tasks. */
function trend(counts: readonly NightCount[]): number {
  const [all, lacking] = [sum(counts, ({ tasks }) => tasks), sum(counts, (one) => one.lacking)];
  if (lacking < LEAST_TASKS || all - lacking < LEAST_TASKS) return 0;
  const rate = lacking / all;
  const score = sum(counts, ({ night, tasks, lacking: own }) => night * (own - tasks * rate));
  const spread =
    sum(counts, ({ night, tasks }) => tasks * night ** 2) - sum(counts, ({ night, tasks }) => tasks * night) ** 2 / all;
  // The variance of drawing without replacement, given the counts of all nights.
  return (score - 0.5) / Math.sqrt((rate * (1 - rate) * spread * all) / (all - 1));
}

const share = (counts: readonly NightCount[]): number =>
  sum(counts, ({ lacking }) => lacking) / sum(counts, ({ tasks }) => tasks);

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);

/** Whether the version's last night with the same inputs reported a drift: the next one then plays more tasks. */
export function isWatched(nights: readonly Nights['nights'][number][], version: number, content: NightPlan['content']) {
  const last = nights.findLast(({ outcome }) => outcome !== null);
  return last?.version === version && isEqualContent(last.content, content) && last.drifting !== undefined;
}
