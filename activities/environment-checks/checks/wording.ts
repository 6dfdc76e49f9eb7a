import { type CheckResult, wholePercent } from '../check';
import { type EnvironmentTask, promptOf, systemOf } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import type { TargetProfile } from '../target-profile';
import { wordsOf } from '../words';

/** Largest number of words that a sentence names. */
const NAMED = 8;

/** The words of a text, without numbers. */
const plainWords = (text: string): string[] => wordsOf(text).filter((word) => !/\d/.test(word));

/**
 * Checks that the system message resembles the agent's own: few of its words are missing from the agent's system
 * message, tools and openings.
 */
export function checkSystemMessage(tasks: readonly EnvironmentTask[], target: TargetProfile): CheckResult {
  const { tools, system, train } = target;
  const messages = [...new Set(tasks.map(systemOf))];
  if (system.length > 0 && messages.some((text) => text.trim() === ''))
    return { passed: false, detail: 'There is no system message; the agent has one.', figures: [] };
  const known = new Set([...system, JSON.stringify(tools), ...train].flatMap(plainWords));
  const shares = messages.map((text) => {
    const words = [...new Set(plainWords(text))];
    const strange = words.filter((word) => !known.has(word));
    return { strange, share: strange.length / Math.max(1, words.length) };
  });
  const worst = shares.reduce((a, b) => (b.share > a.share ? b : a));
  const limit = CHECK_LIMITS.maxStrangeWordsTold;
  const passed = worst.share <= limit;
  const words = `${wholePercent(worst.share)} of the system message's words are new to the agent`;
  return {
    passed,
    detail: passed
      ? `${words}.`
      : `${words}: ${worst.strange.slice(0, NAMED).join(', ')}. Take the agent's own message.`,
    figures: [{ name: 'new words in the system message', value: worst.share, atMost: limit }],
  };
}

/**
 * Checks that the openings are worded like the agent's own: few of them contain a word that no opening of the agent
 * contains. Names and values count as words. Unseen words could make a model fail for a reason that the agent's tasks
 * do not have.
 */
export function checkWording(tasks: readonly EnvironmentTask[], { train }: TargetProfile): CheckResult {
  const known = new Set(train.flatMap(plainWords));
  const strange = tasks.map((task) => plainWords(promptOf(task)).filter((word) => !known.has(word)));
  const share = strange.filter((words) => words.length > 0).length / tasks.length;
  const limit = CHECK_LIMITS.maxStrangeOpenings;
  const passed = share <= limit;
  const words = `${wholePercent(share)} of the openings have words that none of the agent's own has`;
  const named = [...new Set(strange.flat())].slice(0, NAMED).join(', ');
  return {
    passed,
    detail: passed ? `${words}.` : `${words}: ${named}. Use the words, names and values of the agent's openings.`,
    figures: [{ name: 'openings with new words', value: share, atMost: limit }],
  };
}
