import type { CapabilityDrift, LackCount, NightPlan, Nights } from '../../contracts/artifacts/night';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { normalQuantile } from '../../contracts/statistics/normal';
import { isEqualContent } from './night-content';

/** Nights, tonight included, in which a trend is looked for. */
const NIGHTS = 8;
/** With fewer nights a trend is one night. */
const LEAST_NIGHTS = 5;
/** Fewest lacking tasks in them, and fewest others: below, the normal approximation is poor. */
const LEAST_TASKS = 10;
/** Error of all that is said to drift while version and content stay, however many nights look. */
const ERROR = 0.05;

type Lacks = Pick<Nights['nights'][number], 'version' | 'content' | 'outcome' | 'lack'>;

/**
 * Capabilities that are lacking in more and more of the tasks: the Cochran-Armitage test for a trend, one-sided and
 * with a continuity correction, over the last 8 nights of the version on the same content. The fifth night looks first.
 * The k-th look has the error `0.05 x 6 / (pi^2 k^2)`, divided among the capabilities of the night (Bonferroni), so
 * that anything is wrongly said to drift with a chance of at most 0.05 while version and content stay.
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

/** Standard score of the trend; positive where more are lacking in later nights. 0 where there is too little to say. */
function trend(counts: readonly NightCount[]): number {
  const [all, lacking] = [sum(counts, ({ tasks }) => tasks), sum(counts, (one) => one.lacking)];
  if (lacking < LEAST_TASKS || all - lacking < LEAST_TASKS) return 0;
  const rate = lacking / all;
  const score = sum(counts, ({ night, tasks, lacking: own }) => night * (own - tasks * rate));
  const spread =
    sum(counts, ({ night, tasks }) => tasks * night ** 2) - sum(counts, ({ night, tasks }) => tasks * night) ** 2 / all;
  // The variance of drawing without replacement, all counts of all nights given.
  return (score - 0.5) / Math.sqrt((rate * (1 - rate) * spread * all) / (all - 1));
}

const share = (counts: readonly NightCount[]): number =>
  sum(counts, ({ lacking }) => lacking) /
  Math.max(
    1,
    sum(counts, ({ tasks }) => tasks),
  );

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);

/** Whether the last night of the version on this content said that something drifts: the next one plays more tasks. */
export function isWatched(nights: readonly Nights['nights'][number][], version: number, content: NightPlan['content']) {
  const last = nights.findLast(({ outcome }) => outcome !== null);
  return last?.version === version && isEqualContent(last.content, content) && last.drifting !== undefined;
}

/** The nights without counts that are too old to be looked at, so that the document stays small. */
export const withoutOldLacks = (nights: Nights['nights']): Nights['nights'] =>
  nights.map(({ lack, ...night }, place) =>
    lack === undefined || place < nights.length - 2 * NIGHTS ? night : { ...night, lack },
  );
