import type { ChatMessage } from '../../../contracts/artifacts/trajectory';
import { textOf, wordsOf } from '../../environment-checks/words';

/** Longer values are texts that the agent words itself. */
const MOST_WORDS = 4;
/** Shorter values are choices and counts rather than names of something. */
const FEWEST_CHARACTERS = 3;
/** Numbers from which others are computed, at most: the latest. */
const MOST_NUMBERS = 60;
/** Decimal values, and dates that begin with a year, with a day, or that name their month: mostly computed. */
const COMPUTED = [
  /^[-+]?\d*[.,]\d+\s*%?$/,
  /^(?:19|20)\d\d[-./](?:0?[1-9]|1[0-2])(?:[-./]\d{1,2})?(?:[T ]\d.*)?$/,
  /^\d{1,2}[-./]\d{1,2}[-./](?:\d\d|(?:19|20)\d\d)(?:[T ]\d.*)?$/,
  /^(?:\d{1,2}\.? \p{L}+|\p{L}+ \d{1,2}),? (?:19|20)\d\d$/u,
];

/** The arguments of an episode's calls, each written `tool.argument`. */
export interface ArgumentSources {
  /** Arguments with a value that no message before the call contains, and that does not simply follow from one. */
  unseen: ReadonlySet<string>;
  /** The other arguments. */
  seen: ReadonlySet<string>;
}

/**
 * Where the arguments of an episode's calls come from. Messages are those of the system, of the user and of tools: what
 * the agent said before is no source. A value follows simply if its words or digits stand there in another form or
 * order, or if it is a neighbour of a number there, the sum of three or fewer, or the difference, product or quotient
 * of two. Yes and no, dates, decimal values, values of one or two characters, and longer texts are left out.
 */
export function argumentSources(messages: readonly ChatMessage[]): ArgumentSources {
  const known = new KnownValues();
  const unseen = new Set<string>();
  const seen = new Set<string>();
  for (const { role, content, tool_calls: calls } of messages) {
    if (role !== 'assistant') known.add(content ?? '');
    for (const { function: call } of calls ?? [])
      for (const [name, value] of leaves(parsed(call.arguments))) {
        const text = textOf(value).trim();
        const words = wordsOf(text);
        if (COMPUTED.some((form) => form.test(text))) continue;
        if (words.length > MOST_WORDS || words.join('').length < FEWEST_CHARACTERS) continue;
        (known.has(value, words) ? seen : unseen).add(`${call.name}.${name}`);
      }
  }
  for (const name of unseen) seen.delete(name);
  return { unseen, seen };
}

/** The values in the messages so far. */
class KnownValues {
  private readonly words = new Set<string>();
  private readonly numbers = new Set<number>();
  /** All letters and digits, so that `AB-12` is found in `ab12`. */
  private compact = '';

  add(text: string): void {
    const words = wordsOf(text);
    for (const word of words) this.words.add(word);
    // Digits within words count, too: `07` of `2026-07`, `12` of `AB12`.
    for (const digits of text.match(/\d+(?:\.\d+)?/g) ?? []) this.addNumber(Number(digits));
    for (const digits of text.match(/\d+/g) ?? []) this.addNumber(Number(digits));
    this.compact += ` ${words.join('')}`;
  }

  private addNumber(value: number): void {
    // A set keeps the order in which its values were added.
    this.numbers.delete(value);
    this.numbers.add(value);
    if (this.numbers.size > MOST_NUMBERS) this.numbers.delete(this.numbers.values().next().value!);
  }

  has(value: unknown, words: readonly string[]): boolean {
    const isKnown = (word: string) => this.words.has(word) || (/^\d+$/.test(word) && this.numbers.has(Number(word)));
    if (words.every(isKnown)) return true;
    const compact = words.join('');
    if (compact.length > 2 && this.compact.includes(compact)) return true;
    const number = Number(textOf(value));
    return Number.isFinite(number) && this.followsFrom(number);
  }

  private followsFrom(value: number): boolean {
    const { numbers } = this;
    for (const a of numbers) {
      if (Math.abs(value - a) === 1 || numbers.has(value - a) || numbers.has(a + value)) return true;
      for (const b of numbers)
        if (numbers.has(value - a - b) || a * b === value || Math.abs(a / b - value) < 1) return true;
    }
    return false;
  }
}

/** The values in a call's arguments, each with the name of the argument that contains it. */
function leaves(given: unknown): [string, string | number][] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return [];
  return Object.entries(given).flatMap(([name, value]) =>
    inside(value).map((one) => [name, one] as [string, typeof one]),
  );
}

function inside(value: unknown): (string | number)[] {
  if (typeof value === 'string' || typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(inside) : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
