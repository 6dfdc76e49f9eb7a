import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import type { EnvironmentTask } from './environment-task';
import { asCall, asMove } from './moves';

/** All values of each argument in the reference solutions; keys are `tool.argument`. */
export function argumentValues(tasks: readonly EnvironmentTask[]): Map<string, unknown[]> {
  const values = new Map<string, unknown[]>();
  for (const { name, arguments: given } of tasks.flatMap(({ reference }) => reference.map(asCall))) {
    for (const [key, value] of Object.entries(given))
      values.set(`${name}.${key}`, [...(values.get(`${name}.${key}`) ?? []), value]);
  }
  return values;
}

/** A move with one wrong argument. */
export interface WrongMove {
  move: EnvironmentMove;
  /** Name of the argument. */
  key: string;
  /** The right value. */
  right: unknown;
}

/**
 * Copies of a move. In each, one argument, or the text, is replaced by another value of the same kind. Empty for a call
 * without arguments.
 * @param values the result of `argumentValues`, from which replacements are drawn.
 */
export function withOneWrongArgument(
  move: EnvironmentMove,
  values: ReadonlyMap<string, readonly unknown[]>,
  random: () => number,
): WrongMove[] {
  const { name, arguments: given } = asCall(move);
  return Object.entries(given).map(([key, right]) => {
    const wrong = wrongValue(right, values.get(`${name}.${key}`) ?? [], random);
    return { move: asMove(move, { name, arguments: { ...given, [key]: wrong } }), key, right };
  });
}

/** Another value of the same kind; a string is drawn from `others` if it contains a different one. */
function wrongValue(value: unknown, others: readonly unknown[], random: () => number): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1 + Math.floor(random() * 5);
  const foreign = others.filter(
    (other) => typeof other === typeof value && JSON.stringify(other) !== JSON.stringify(value),
  );
  if (foreign.length > 0) return foreign[Math.floor(random() * foreign.length)];
  return typeof value === 'string' ? `${value} or not` : null;
}
