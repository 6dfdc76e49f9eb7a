import { cleanBlock } from '../../contracts/clean-text';
import { withoutSameFailure } from '../../contracts/same-failure';
import { activityView } from './activities';
import { explainActivity } from './explain';
import type { PendingActivity, RunState } from './run-state';
import { sinceText } from './waits';

/** Failed attempts from which a stage's activity is told: single ones are usual where many calls are made. */
const WORTH_A_LINE = 2;

/** Decides which failing activities of a run to print, and records the printed ones. */
interface FailingLines {
  /** The text of each failure that was not told yet: what failed and why, since when, the next attempt, what to do. */
  news(state: RunState): string[];
}

/**
 * The failing activities of one run, with none printed yet. Each failure is told once; failures of a stage that
 * differ only in numbers, such as pauses and ids of tasks, count as the same.
 */
export function createFailingLines(): FailingLines {
  const told = new Set<string>();
  return {
    news(state) {
      const texts: string[] = [];
      for (const activity of state.activities.filter(isWorthALine)) {
        const failure = failureOf(activity);
        if (told.has(failure)) continue;
        told.add(failure);
        texts.push(cleanBlock(`${troubleSince(activity, state)}. ${explainActivity(activity, state)}`));
      }
      return texts;
    },
  };
}

/** Before the first stage, nothing else shows that a run does not go on, so the first failure is told. */
function isWorthALine({ activityType, status, attempt, lastFailure }: PendingActivity): boolean {
  if (lastFailure === null || (status !== 'backing-off' && status !== 'started')) return false;
  return attempt > (isPreparing(activityType) ? 1 : WORTH_A_LINE);
}

const isPreparing = (activityType: string): boolean => activityView(activityType).stage === 'prepare';

function failureOf({ activityType, lastFailure }: PendingActivity): string {
  const words = withoutSameFailure(lastFailure?.message ?? '');
  // The first checks are one activity, whose numbers are ports and fields that somebody corrects.
  const known = isPreparing(activityType) ? words : words.replace(/\d+/g, '0');
  return JSON.stringify([activityType, lastFailure?.type, known]);
}

/**
 * Since when it fails: as its worker reported it, else since the last attempt, whose time the server does not give
 * between two attempts.
 */
function troubleSince({ activityType, attempt, startedAt }: PendingActivity, { progress, now }: RunState): string {
  const reported = progress?.failing.find(({ key }) => key === activityType);
  if (reported !== undefined) return `Trouble ${sinceText(reported.sinceMs, now)}`;
  return `Trouble${attempt > 2 ? ' at least' : ''} ${sinceText(startedAt ?? now, now)}`;
}
