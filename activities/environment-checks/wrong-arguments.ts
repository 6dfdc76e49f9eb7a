import type { EnvironmentCall } from '../../contracts/messages/environment-protocol';
import type { EnvironmentTask } from './environment-task';

/** All values that each argument has in the reference solutions; keys are `tool.argument`. */
export function argumentValues(tasks: readonly EnvironmentTask[]): Map<string, unknown[]> {
  const values = new Map<string, unknown[]>();
  for (const { name, arguments: given } of tasks.flatMap(({ reference }) => reference)) {
    for (const [key, value] of Object.entries(given))
      values.set(`${name}.${key}`, [...(values.get(`${name}.${key}`) ?? []), value]);
  }
  return values;
}

/**
 * Copies of a call, each with one argument replaced by another value of the same kind. Empty for a call without
 * arguments.
 * @param values of `argumentValues`, from which replacements are drawn.
 */
export function withOneWrongArgument(
  call: EnvironmentCall,
  values: ReadonlyMap<string, readonly unknown[]>,
  random: () => number,
): EnvironmentCall[] {
  return Object.entries(call.arguments).map(([key, value]) => ({
    name: call.name,
    arguments: { ...call.arguments, [key]: wrongValue(value, values.get(`${call.name}.${key}`) ?? [], random) },
  }));
}

/** Another value of the same kind; a string is drawn from `others` when these hold a different one. */
function wrongValue(value: unknown, others: readonly unknown[], random: () => number): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1 + Math.floor(random() * 5);
  const foreign = others.filter(
    (other) => typeof other === typeof value && JSON.stringify(other) !== JSON.stringify(value),
  );
  if (foreign.length > 0) return foreign[Math.floor(random() * foreign.length)];
  return typeof value === 'string' ? `${value} or not` : null;
}
