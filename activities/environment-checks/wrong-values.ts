import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import { asCall, asMove } from './moves';
import { siblingsOf } from './sibling-values';

/** A move with one argument changed to a value of the same task, or a value that is nearly right. */
export interface ChangedMove {
  move: EnvironmentMove;
  /** Name of the argument. */
  key: string;
  /** `other`: of another object of the task; `field`: another field of the same record; `near`: off by a little. */
  how: 'other' | 'field' | 'near';
}

/** Each argument of a move with other values of the same task, and with a value that is nearly right. */
export function withValuesOfTask(
  move: EnvironmentMove,
  hidden: Record<string, unknown>,
  random: () => number,
): ChangedMove[] {
  const { name, arguments: given } = asCall(move);
  return Object.entries(given).flatMap(([key, right]) => {
    const { others, fields } = siblingsOf(hidden, right);
    const near = nearly(right);
    const values = [
      ...one(others, random).map((value) => ({ how: 'other' as const, value })),
      ...one(fields, random).map((value) => ({ how: 'field' as const, value })),
      ...(near === null ? [] : [{ how: 'near' as const, value: near }]),
    ];
    return values.map(({ how, value }) => ({
      move: asMove(move, { name, arguments: { ...given, [key]: value } }),
      key,
      how,
    }));
  });
}

const one = (values: readonly unknown[], random: () => number): unknown[] =>
  values.length === 0 ? [] : [values[Math.floor(random() * values.length)]];

/** One less for a number; a text turned round: its words, or the letters of a single word. */
function nearly(value: unknown): unknown {
  if (typeof value === 'number') return value - 1;
  if (typeof value !== 'string') return null;
  const words = value.split(' ');
  const turned = words.length > 1 ? words.reverse().join(' ') : [...value].reverse().join('');
  return turned === value ? null : turned;
}
