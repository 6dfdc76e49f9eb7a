// tier: unit
import { outcomeSchema } from '../../contracts/config/gateway-config';
import { withoutRounding } from '../../contracts/reward';

const sum = (...parts: number[]): number => parts.reduce((total, part) => total + part, 0);

test.each([
  ['ten tenths', sum(...Array<number>(10).fill(0.1)), 1],
  ['twenty twentieths', sum(...Array<number>(20).fill(0.05)), 1],
  ['eight tenths', sum(...Array<number>(8).fill(0.1)), 0.8],
  ['0.1 + 0.2', 0.1 + 0.2, 0.3],
  ['nothing left', 0.3 - 0.1 - 0.1 - 0.1, 0],
  ['six sixths', sum(...Array<number>(6).fill(1 / 6)), 1],
  ['a third', 1 / 3, 1 / 3],
  ['many digits', 0.123456789, 0.123456789],
  ['almost a success', 0.99999, 0.99999],
])('%s is what is meant', (_, reward, meant) => {
  expect(withoutRounding(reward)).toBe(meant);
  expect(outcomeSchema.parse({ conversation: 'c', reward }).reward).toBe(meant);
});

test.each([1.000001, -0.000001, Infinity, NaN, '1.0', true, null])('an outcome of %j is refused', (reward) => {
  expect(outcomeSchema.safeParse({ conversation: 'c', reward }).success).toBe(false);
});
