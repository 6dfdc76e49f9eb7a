import type { EnvironmentCall, EnvironmentMove, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { EnvironmentTask } from './environment-task';
import { asCall, toolNames } from './moves';
import { NEUTRAL } from './scripted-policies';
import {
  familyOf,
  knownCalls,
  knownValues,
  type Material,
  parametersOf,
  partAt,
  spliced,
  type Variation,
  variationsIn,
} from './variation-parts';
import { textOf } from './words';

/** Another tool in the place of the right one, all calls of a tool twice, and a call that nothing asks for. */
export function otherCalls(task: EnvironmentTask, material: Material, random: () => number): Variation[] {
  return [
    ...insteadOf(task, material),
    ...allTwice(task, material),
    ...needless(task, guessedCalls(task, material, random)),
  ];
}

/** Another tool with arguments of the solution in the place of the right one. */
function insteadOf(task: EnvironmentTask, material: Material): Variation[] {
  const { reference } = task;
  const { speaking } = material;
  const others = knownCalls(task, material);
  return reference.flatMap((move, index): Variation[] => {
    const { name } = asCall(move);
    if (speaking.has(name)) return [];
    const variation = variationsIn(partAt(reference, index, speaking));
    return others
      .filter((other) => other.name !== name)
      .map((other) => {
        const [change, about] = [`${other.name} instead of ${name}`, `${other.name} in the place of ${name}`];
        const further = { position: index, mayLookUp: false };
        return { ...variation('fault', change, about, spliced(reference, index, 1, other)), further };
      });
  });
}

/** All calls of a tool twice; a single one is repeated elsewhere. */
function allTwice({ reference }: EnvironmentTask, { speaking }: Material): Variation[] {
  const names = toolNames(reference);
  const repeated = [...new Set(names)].filter(
    (name) => !speaking.has(name) && names.indexOf(name) !== names.lastIndexOf(name),
  );
  return repeated.map((name) => {
    const moves = reference.flatMap((move): EnvironmentMove[] => (asCall(move).name === name ? [move, move] : [move]));
    return variationsIn(familyOf({ reference }))(
      'fault',
      `all twice ${name}`,
      `Every call of ${name} twice, where there are several`,
      moves,
    );
  });
}

/** A further call, which the solution does not need. */
function needless({ reference }: EnvironmentTask, calls: readonly EnvironmentCall[]): Variation[] {
  const variation = variationsIn(familyOf({ reference }));
  return calls.map((call): Variation => {
    const about = `One more call of ${call.name}, which the solution does not need, before everything else`;
    const further = { position: 0, mayLookUp: true };
    return { ...variation('fault', `needless ${call.name}`, about, [call, ...reference]), further };
  });
}

/** A call of each tool for which the solution lacks arguments. These are taken from the task's data. */
function guessedCalls({ reference, hidden }: EnvironmentTask, material: Material, random: () => number) {
  const { tools, speaking } = material;
  const known = knownValues(reference);
  const objects = new Set([...known.values()].map(textOf));
  const used = new Set(toolNames(reference));
  return tools.flatMap((tool): EnvironmentCall[] => {
    const { name } = tool.function;
    const keys = Object.keys(parametersOf(tool));
    if (speaking.has(name) || used.has(name) || keys.every((key) => known.has(key))) return [];
    const given = keys.map((key) => [key, known.get(key) ?? guess(key, tool, { hidden, objects, material, random })]);
    return [{ name, arguments: Object.fromEntries(given) as Record<string, unknown> }];
  });
}

interface Sources {
  hidden: Record<string, unknown> | undefined;
  /** Values of the solution, as text. */
  objects: ReadonlySet<string>;
  material: Material;
  random: () => number;
}

/** A likely value of an argument: of the task's data, of other solutions, of the schema, or else any. */
function guess(key: string, tool: EnvironmentTool, { hidden, objects, material, random }: Sources): unknown {
  const { type, enum: words } = parametersOf(tool)[key] ?? {};
  const isOfType = (value: unknown): boolean => typeof value === (type === 'integer' ? 'number' : type);
  const { related, others } = fieldsOf(hidden ?? {}, key, objects);
  const elsewhere = [...material.values].flatMap(([argument, some]) => (argument.endsWith(`.${key}`) ? some : []));
  const sources = [related, others, elsewhere, Array.isArray(words) ? words : []];
  const usable = sources.map((values: readonly unknown[]) => values.filter(isOfType)).find(({ length }) => length > 0);
  if (usable !== undefined) return usable[Math.floor(random() * usable.length)];
  return type === 'integer' || type === 'number' ? 1 : type === 'boolean' ? true : NEUTRAL;
}

/** Deepest level of a task that is searched. */
const DEPTH = 12;

/**
 * The values of fields with a name in a task's data: those in records about objects of the solution, and the others. A
 * field `products` has products: the keys of a table, or the elements of a list.
 */
function fieldsOf(task: unknown, key: string, objects: ReadonlySet<string>) {
  const related: unknown[] = [];
  const others: unknown[] = [];
  const visit = (node: unknown, isAbout: boolean, depth: number): void => {
    if (depth > DEPTH || typeof node !== 'object' || node === null) return;
    const entries: [string, unknown][] = Object.entries(node);
    const has = isAbout || entries.some(([, value]) => typeof value !== 'object' && objects.has(textOf(value)));
    for (const [name, value] of entries) {
      const isObject = typeof value === 'object' && value !== null;
      if (name === key && !isObject) (has ? related : others).push(value);
      if (name === `${key}s` && isObject)
        others.push(...(Array.isArray(value) ? (value as unknown[]) : Object.keys(value)));
      visit(value, objects.has(name), depth + 1);
    }
  };
  visit(task, false, 0);
  return { related, others };
}
