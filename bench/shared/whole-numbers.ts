import { parseArgs } from 'node:util';

/**
 * The options of a command line, each a whole number above 0. Absent ones have their value of `defaults`.
 * @throws RangeError for another value, TypeError for an option that `defaults` lacks.
 */
export function wholeNumberOptions<Name extends string>(defaults: Record<Name, number>): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  const { values } = parseArgs({
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
  });
  return Object.fromEntries(
    names.map((name) => {
      const value = Number(values[name] ?? defaults[name]);
      if (!Number.isInteger(value) || value < 1) throw new RangeError(`--${name}: a whole number above 0.`);
      return [name, value];
    }),
  ) as Record<Name, number>;
}
