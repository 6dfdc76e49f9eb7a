import { asCall, SAID } from './moves';
import { givenValues, observedValues, type ObservedValue, wordsOfAnswer } from './observed-values';
import type { SolvedOpening } from './solution-forms';
import { spacedWords, textOf, wordsOf } from './words';

/** One explanation of an argument's value by what was seen before the call. */
export interface Source {
  /** The places of the value's parts, in order: `asked`, a path such as `get_order.total`, or a text in quotes. */
  text: string;
  /** Other arguments of the call that stand in the same record as the value. */
  links: ReadonlySet<string>;
}

/** A use of an argument in a solution, with every explanation of its value. */
export interface ArgumentUse {
  /** `tool.argument`. */
  argument: string;
  /** Position of the call in the solution. */
  position: number;
  value: ObservedValue['value'];
  sources: Source[];
}

/** A text or number that was seen before a call. */
interface Seen {
  /** The user's words, with a space around each. */
  asked: string;
  askedNumbers: ReadonlySet<number>;
  values: ObservedValue[];
  /** Answers in words, by tool. */
  texts: { tool: string; words: string[] }[];
}

/** A longer text is not judged, in words: the time for its explanations grows with the cube of its length. */
const LONGEST_TEXT = 30;
/** Largest number of explanations of one value. */
const MOST_SOURCES = 256;
/** Numbers that take part in calculations: at most this many. */
const MOST_NUMBERS = 24;
/** The largest constant that is added to a number. */
const LARGEST_STEP = 5;
const FACTORS = [2, 10, 100, 1000, 0.5, 0.1, 0.01, 0.001];
/** A word is part of an argument's fixed text if at least this share of its values have it, and this many. */
const COMMON_WORD = 0.03;
const FEWEST_COMMON = 3;

/** Words that a good share of an argument's values contain, by argument: "refunded", for example. */
export type FixedWords = ReadonlyMap<string, ReadonlySet<string>>;

/** The fixed words of each argument of the solutions. */
export function fixedWords(tasks: readonly SolvedOpening[]): FixedWords {
  const values = Map.groupBy(
    tasks.flatMap(({ reference }) => reference.flatMap(givenValues)),
    ({ path }) => path,
  );
  return new Map(
    [...values].map(([argument, uses]) => {
      const counts = new Map<string, number>();
      for (const { value } of uses)
        for (const word of new Set(wordsOf(textOf(value)))) counts.set(word, (counts.get(word) ?? 0) + 1);
      const least = Math.max(FEWEST_COMMON, COMMON_WORD * uses.length);
      const common = [...counts].filter(([, count]) => count >= least).map(([word]) => word);
      return [argument, new Set(common)];
    }),
  );
}

/** Every use of an argument in a task's solution, except of long texts, with the explanations of its value. */
export function argumentUses(task: SolvedOpening, speaking: ReadonlySet<string>, fixed: FixedWords): ArgumentUse[] {
  const seen: Seen = { asked: spacedWords(task.prompt), askedNumbers: numbersIn(task.prompt), values: [], texts: [] };
  return task.reference.flatMap((move, position) => {
    const given = givenValues(move);
    const judged = given.filter(({ value }) => wordsOf(textOf(value)).length <= LONGEST_TEXT);
    const uses = judged.map(({ path: argument, value }) => ({
      argument,
      position,
      value,
      sources: sourcesOf(value, seen, given, argument, fixed.get(argument)),
    }));
    const observation = task.observations[position];
    if (observation !== undefined) note(seen, move, observation, speaking);
    return uses;
  });
}

function note(
  seen: Seen,
  move: SolvedOpening['reference'][number],
  observation: string,
  speaking: ReadonlySet<string>,
): void {
  const { name } = asCall(move);
  if (name === SAID || speaking.has(name)) {
    // The answer to what the agent says is what the user says next.
    seen.asked += ` |${spacedWords(observation)}`;
    seen.askedNumbers = new Set([...seen.askedNumbers, ...numbersIn(observation)]);
    return;
  }
  seen.values.push(...observedValues(move, observation));
  const words = wordsOfAnswer(observation);
  if (words.length > 0) seen.texts.push({ tool: name, words });
}

const numbersIn = (text: string): Set<number> => new Set((text.match(/\d+(\.\d+)?/g) ?? []).map(Number));

/** The explanations of a value, without duplicates; of two with the same text, the one with more links. */
function sourcesOf(
  value: ObservedValue['value'],
  seen: Seen,
  given: readonly ObservedValue[],
  argument: string,
  fixed: ReadonlySet<string> = new Set(),
): Source[] {
  const linksOf = ({ record }: ObservedValue): string[] =>
    given.flatMap(({ path, value: other }) => (path !== argument && record.has(textOf(other)) ? [path] : []));
  const found =
    typeof value === 'number' ? sourcesOfNumber(value, seen, linksOf) : sourcesOfText(value, seen, linksOf, fixed);
  const best = new Map<string, Source>();
  for (const source of found) {
    const known = best.get(source.text);
    if (known === undefined || known.links.size < source.links.size) best.set(source.text, source);
  }
  return [...best.values()];
}

type LinksOf = (value: ObservedValue) => string[];

const asNumber = (value: ObservedValue['value']): number | null =>
  typeof value === 'number' ? value : typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;

const isSame = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a));

function sourcesOfNumber(value: number, seen: Seen, linksOf: LinksOf): Source[] {
  const numbers = seen.values.flatMap((one) => {
    const number = asNumber(one.value);
    return number === null ? [] : [{ text: one.path, number, links: linksOf(one) }];
  });
  const inTexts = seen.texts.flatMap(({ tool, words }) =>
    words.flatMap((word, place) =>
      /^\d+$/.test(word) ? [{ text: `${tool} after ${words[place - 1] ?? ''}`, number: Number(word), links: [] }] : [],
    ),
  );
  const asked = [...seen.askedNumbers].map((number) => ({ text: 'asked', number, links: [] as string[] }));
  const all = [...numbers, ...inTexts, ...asked];
  const plain = all.filter(({ number }) => isSame(number, value)).map(({ text, links }) => source(text, links));
  const literal = source(JSON.stringify(String(value)));
  return plain.length > 0 ? [...plain, literal] : [...calculated(value, all), literal];
}

const source = (text: string, links: readonly string[] = []): Source => ({ text, links: new Set(links) });

/** Calculations with one or two numbers, and the sum of all numbers of one path, that give a value. */
function calculated(value: number, all: readonly { text: string; number: number; links: string[] }[]): Source[] {
  const some = all.slice(-MOST_NUMBERS);
  const single = some.flatMap(({ text, number, links }) => {
    const step = value - number;
    const steps = Number.isInteger(step) && Math.abs(step) <= LARGEST_STEP ? [`${text} + ${step}`] : [];
    const factors = FACTORS.filter((factor) => isSame(number * factor, value)).map((factor) => `${text} * ${factor}`);
    return [...steps, ...factors].map((way) => source(way, links));
  });
  const pairs = some.flatMap((one, place) =>
    some.flatMap((other, second) => {
      if (second === place) return [];
      const links = one.links.filter((link) => other.links.includes(link));
      const ways = [
        ...(place < second && isSame(one.number + other.number, value) ? [`${one.text} + ${other.text}`] : []),
        ...(isSame(one.number - other.number, value) ? [`${one.text} - ${other.text}`] : []),
        ...(place < second && isSame(one.number * other.number, value) ? [`${one.text} * ${other.text}`] : []),
      ];
      return ways.map((way) => source(way, links));
    }),
  );
  const sums = [...Map.groupBy(all, ({ text }) => text)]
    .filter(([, group]) => group.length > 1)
    .flatMap(([text, group]) => [
      ...(isSame(
        group.reduce((sum, { number }) => sum + number, 0),
        value,
      )
        ? [source(`sum of ${text}`)]
        : []),
      ...(group.length === value ? [source(`count of ${text}`)] : []),
    ]);
  return [...single, ...pairs, ...sums];
}

/** A part of a text: how many of its words it takes, and where they come from. */
interface Part {
  length: number;
  text: string;
  links: readonly string[];
  isFixed: boolean;
}

function sourcesOfText(
  value: string | boolean | null,
  seen: Seen,
  linksOf: LinksOf,
  fixed: ReadonlySet<string>,
): Source[] {
  const words = wordsOf(textOf(value));
  const values = seen.values
    .map((one) => ({ words: wordsOf(textOf(one.value)), text: one.path, links: linksOf(one) }))
    .filter((one) => one.words.length > 0);
  const partsAt = words.map((_, place) => partsFrom(words, place, seen, values, fixed));
  const found: Source[] = [];
  const visit = (place: number, parts: readonly Part[]): void => {
    if (found.length >= MOST_SOURCES) return;
    if (place >= words.length) {
      found.push(joined(parts));
      return;
    }
    for (const part of partsAt[place]!) visit(place + part.length, [...parts, part]);
  };
  visit(0, []);
  return found;
}

/** Joins parts; texts in quotes next to each other become one. */
function joined(parts: readonly Part[]): Source {
  const texts: string[] = [];
  for (const [index, { text, isFixed }] of parts.entries()) {
    if (isFixed && parts[index - 1]?.isFixed) texts.push(`${texts.pop()!.slice(0, -1)} ${text}"`);
    else texts.push(isFixed ? `"${text}"` : text);
  }
  return source(texts.join(' '), [...new Set(parts.flatMap(({ links }) => links))]);
}

/** The parts of a text that can begin at a word: the longest runs that were seen, and the word itself as fixed text. */
function partsFrom(
  words: readonly string[],
  place: number,
  seen: Seen,
  values: readonly { words: string[]; text: string; links: string[] }[],
  fixed: ReadonlySet<string>,
): Part[] {
  const rest = words.slice(place);
  const inAsked = longestRun(rest, (run) => seen.asked.includes(` ${run} `));
  const whole = values.filter((one) => one.words.every((word, index) => word === rest[index]));
  const inTexts = seen.texts.flatMap(({ tool, words: said }) =>
    said.flatMap((word, index): Part[] => {
      if (word !== rest[0]) return [];
      let length = 1;
      while (length < rest.length && said[index + length] === rest[length]) length++;
      return [{ length, text: `${tool} after ${said[index - 1] ?? ''}`, links: [], isFixed: false }];
    }),
  );
  const all: Part[] = [
    ...(inAsked > 0 ? [{ length: inAsked, text: 'asked', links: [], isFixed: false }] : []),
    ...whole.map((one) => ({ length: one.words.length, text: one.text, links: one.links, isFixed: false })),
    ...inTexts,
  ];
  const longest = all.reduce((most, { length }) => Math.max(most, length), 0);
  const word = rest[0]!;
  const literal: Part = { length: 1, text: word, links: [], isFixed: true };
  const parts = all.filter(({ length }) => length === longest);
  return longest <= 1 || fixed.has(word) ? [...parts, literal] : parts;
}

function longestRun(words: readonly string[], isSeen: (run: string) => boolean): number {
  let length = 0;
  while (length < words.length && isSeen(words.slice(0, length + 1).join(' '))) length++;
  return length;
}
