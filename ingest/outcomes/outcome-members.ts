import type { Scored } from '../fragment';
import { type Fields, isFields } from '../values';
import type { PassRule } from './outcome-value';

/** Members that say how a conversation ended, the first of which counts. */
const OUTCOMES = [
  ...['outcome', 'success', 'passed', 'pass', 'resolved', 'solved', 'reward', 'score', 'rating', 'feedback', 'thumb'],
  'thumbs',
];
/** Members that in logs of requests tell of a technical state: they count in an owner's file, and under a rule. */
const STATES = ['status', 'result', 'label', 'value'];

/** A member that holds an outcome. */
type Found = Pick<Scored, 'name' | 'value' | 'needsRule'>;

/**
 * The member of a line of an owner's file that holds its outcome; null: it has none.
 * @param rule where the line has the member that it names, no other is read.
 */
export function outcomeOfLine(line: Fields, rule: PassRule | null): Found | null {
  const chosen = rule === null ? undefined : namesOf(line).get(rule.name.toLowerCase());
  if (rule === null || chosen === undefined) return membersIn(line, [...OUTCOMES, ...STATES])[0] ?? null;
  const value = line[chosen];
  return isGiven(value) ? { name: rule.name, value } : null;
}

/** Members of a trace's records that may hold its outcome: the one that counts, and those that a rule may name. */
export function outcomesOfTrace(...records: readonly Fields[]): Found[] {
  const isSingle = ({ value }: Found): boolean => !isFields(value) && !Array.isArray(value);
  const [first, ...others] = records.flatMap((record) => membersIn(record, OUTCOMES)).filter(isSingle);
  const states = records.flatMap((record) => membersIn(record, STATES)).filter(isSingle);
  const names = new Set(first && [first.name]);
  const further = [...others, ...states].filter(({ name }) => !names.has(name) && names.add(name));
  return [...(first ? [first] : []), ...further.map((found) => ({ ...found, needsRule: true as const }))];
}

/** Members by their names in lower case. */
const namesOf = (record: Fields): Map<string, string> =>
  new Map(Object.keys(record).map((name) => [name.toLowerCase().trim(), name]));

function membersIn(record: Fields, wanted: readonly string[]): Found[] {
  const names = namesOf(record);
  return wanted.flatMap((lower) => {
    const name = names.get(lower);
    return name !== undefined && isGiven(record[name]) ? { name, value: record[name] } : [];
  });
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';
