import { cleanLine, startOf } from '../../contracts/clean-text';
import { withoutRounding } from '../../contracts/reward';
import { isFields } from '../values';

/**
 * Words for success, in lower case, with one space where they have dashes or underscores. Those of a technical state,
 * such as `completed` or `closed`, are in neither list: a rule can read them.
 */
const PASSES = [
  ...['true', 'yes', 'y', 'pass', 'passed', 'success', 'successful', 'succeeded', 'resolved', 'solved'],
  ...['correct', 'right', 'good', 'positive', 'accepted', 'like', 'liked'],
  ...['thumbs up', 'thumbsup', 'up', 'upvote', '👍', '✅'],
];
/** Words for failure. */
const FAILS = [
  ...['false', 'no', 'n', 'fail', 'failed', 'failure', 'unsuccessful', 'unresolved', 'unsolved', 'reopened'],
  ...['escalated', 'incorrect', 'wrong', 'bad', 'negative', 'rejected', 'dislike', 'disliked', 'error'],
  ...['thumbs down', 'thumbsdown', 'down', 'downvote', '👎', '❌'],
];
const WORDS = new Map<string, boolean>([
  ...PASSES.map((word) => [word, true] as const),
  ...FAILS.map((word) => [word, false] as const),
]);
/** A number passes from here on, unless the format or a rule says otherwise. */
const HALF = 0.5;

/** Pass or fail, with the reward. */
export interface Verdict {
  success: boolean;
  /** In [0, 1]. */
  reward: number;
}

/**
 * What a value means: true and false; numbers from 0 to 1, of which half and more pass; -1, a thumb down; the words of
 * the two lists, in any case. Null: it means neither.
 * @param passesFrom where the format has a limit: then every number is above or below it, such as a sum of rewards.
 */
export function verdictOf(given: unknown, passesFrom?: number): Verdict | null {
  const value = numberOf(given) ?? given;
  if (typeof value === 'boolean') return { success: value, reward: Number(value) };
  if (typeof value === 'number') {
    const reward = withoutRounding(value) as number;
    if (passesFrom !== undefined) return { success: reward >= passesFrom, reward: Math.min(Math.max(reward, 0), 1) };
    if (reward === -1) return { success: false, reward: 0 };
    return reward >= 0 && reward <= 1 ? { success: reward >= HALF, reward } : null;
  }
  if (typeof value !== 'string') return null;
  const success = WORDS.get(
    value
      .trim()
      .toLowerCase()
      .replace(/[\s_-]+/g, ' '),
  );
  return success === undefined ? null : { success, reward: Number(success) };
}

/** Whether a value is a number outside of 0 to 1 that is no thumb down. */
export function isOffScale(given: unknown): boolean {
  const number = numberOf(given);
  return number !== null && verdictOf(number) === null;
}

/** Longest text that is read as a number. */
const LONGEST_NUMBER = 40;

/** A number, also one that is written as a text; else null. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'string' || value.length > LONGEST_NUMBER) return null;
  return /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(value) ? Number(value) : null;
}

/** A value as messages show it. */
export const shownValue = (value: unknown): string =>
  startOf(cleanLine(isFields(value) || Array.isArray(value) ? 'an object' : String(value)), 40);

/**
 * Which score of the traces, or column of an owner's file, decides, and from which value on: `correctness>=0.7`,
 * `stars>=4`, `errors<=0`, `status=resolved`.
 */
export interface PassRule {
  name: string;
  compare: '>=' | '<=' | '=';
  value: string;
}

/** Reads a rule. Null: it is none. */
export function parsePassRule(text: string): PassRule | null {
  const [, name, compare, value] = /^\s*([^<>=]+?)\s*(>=|<=|=)\s*(\S(?:.*\S)?)\s*$/.exec(text) ?? [];
  if (name === undefined || value === undefined) return null;
  if (compare !== '=' && numberOf(value) === null) return null;
  return { name, compare: compare as PassRule['compare'], value };
}

/** What a value means under a rule. Null: a number is compared with what is none. */
export function verdictUnder({ compare, value: wanted }: PassRule, value: unknown): Verdict | null {
  const [given, limit] = [numberOf(typeof value === 'boolean' ? Number(value) : value), numberOf(wanted)];
  let success: boolean;
  if (compare === '=')
    success = given !== null && limit !== null ? given === limit : String(value).toLowerCase() === wanted.toLowerCase();
  else if (given === null || limit === null) return null;
  else success = compare === '>=' ? given >= limit : given <= limit;
  // Under a limit such as 4 of 5 stars, 1 is no full reward.
  const isReward = compare === '>=' && given !== null && given >= 0 && given <= 1 && (limit as number) <= 1;
  return { success, reward: isReward ? given : Number(success) };
}
