import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import type { EnvironmentTask } from './environment-task';
import { asCall, asMove, toolNames } from './moves';
import { familyOf, type Material, type Variation, variationsIn } from './variation-parts';
import { textOf } from './words';

/** Most endings of other tasks that are tried in one task. */
const MOST = 3;
/** Deepest level of a task's data that is read, and most values of it. */
const DEPTH = 12;
const MOST_VALUES = 400;

/**
 * A right beginning, and then what solutions of other tasks go on with after the same tools, the most frequent ways
 * first. Names and numbers are those of this task: a shipped order is cancelled, and the answer says so. So the whole
 * ending is wrong, consistently.
 */
export function otherEndings(task: EnvironmentTask, { tasks, speaking }: Material): Variation[] {
  const { reference, seed } = task;
  const own = toolNames(reference);
  const variation = variationsIn(familyOf(task));
  const endings = tasks.flatMap((other) => {
    const names = toolNames(other.reference);
    const differs = names.findIndex((name, place) => name !== own[place]);
    if (differs < 1) return [];
    const change = `${names.slice(differs).join(', ')} after ${own.slice(0, differs).join(', ')}`;
    return [{ change, other, differs, then: names.slice(differs).join(', ') }];
  });
  return [...Map.groupBy(endings, ({ change }) => change)]
    .sort(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1))
    .slice(0, MOST)
    .map(([change, some]) => {
      const { other, differs, then } = some[seed % some.length]!;
      const translate = translator(other, task, differs, speaking);
      const moves = [...reference.slice(0, differs), ...other.reference.slice(differs).map(translate)];
      return variation('fault', change, `The ending of other tasks after ${own[differs - 1]}: ${then}`, moves);
    });
}

/**
 * Puts the values of `to` into a move of `from`: arguments of the common beginning, and fields of the tasks' data. A
 * whole answer is no value, even if the data have it: its words are those of the other ending.
 */
function translator(
  from: EnvironmentTask,
  to: EnvironmentTask,
  common: number,
  speaking: ReadonlySet<string>,
): (move: EnvironmentMove) => EnvironmentMove {
  const values = new Map<string, string>();
  const note = (before: unknown, after: unknown): void => {
    if (before !== undefined && after !== undefined && textOf(before) !== '' && !values.has(textOf(before)))
      values.set(textOf(before), textOf(after));
  };
  for (const [place, move] of from.reference.slice(0, common).entries()) {
    const given = asCall(to.reference[place]!).arguments;
    for (const [key, value] of Object.entries(asCall(move).arguments)) note(value, given[key]);
  }
  const there = leavesOf(to.hidden);
  for (const [path, value] of leavesOf(from.hidden)) note(value, there.get(path));
  const words = (text: string, isAnswer: boolean): string => {
    const inside = [...values.keys()]
      .filter((value) => text.includes(value) && !(isAnswer && value === text))
      .sort((a, b) => b.length - a.length);
    if (inside.length === 0) return text;
    const pattern = inside.map((value) => value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
    return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})(?![\\p{L}\\p{N}])`, 'gu'), (value) =>
      values.get(value)!,
    );
  };
  const valueOf = (value: unknown, isAnswer: boolean): unknown => {
    if (typeof value === 'string') return words(value, isAnswer);
    if (typeof value !== 'number') return value;
    const other = Number(values.get(textOf(value)));
    return Number.isNaN(other) ? value : other;
  };
  return (move) => {
    const { name, arguments: given } = asCall(move);
    const translated = Object.entries(given).map(([key, value]) => [key, valueOf(value, speaking.has(name))]);
    return asMove(move, { name, arguments: Object.fromEntries(translated) as Record<string, unknown> });
  };
}

/** The texts and numbers of a task's data, by path. */
function leavesOf(task: Record<string, unknown> | undefined): Map<string, string | number> {
  const leaves = new Map<string, string | number>();
  const visit = (node: unknown, path: string, depth: number): void => {
    if (depth > DEPTH || leaves.size >= MOST_VALUES) return;
    if (typeof node === 'string' || typeof node === 'number') leaves.set(path, node);
    if (typeof node !== 'object' || node === null) return;
    for (const [key, child] of Object.entries(node)) visit(child, `${path}.${key}`, depth + 1);
  };
  visit(task, '', 0);
  return leaves;
}
