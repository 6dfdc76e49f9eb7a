// tier: unit
import { type LimitedFigures, limitsMet } from '../../../bench/worlds/limits';

const good: LimitedFigures = {
  base: 0.5,
  served: 0.9,
  mixed: 0.85,
  oracle: 0.92,
  oracleShare: 0.95,
  low: 0.9,
  routingRollouts: 500,
};
const pooled = { estimate: 0.95, low: 0.9, high: 0.98 };
const all = {
  pooledShare: true,
  eachShare: true,
  low: true,
  mixed: true,
  routingRollouts: true,
  oracleGain: true,
  measured: true,
};

test('worlds that keep every limit meet them all', () => {
  expect(limitsMet([good, { ...good, mixed: null }], pooled, 0)).toEqual(all);
});

test.each<[keyof typeof all, Partial<LimitedFigures>]>([
  ['eachShare', { oracleShare: 0.799 }],
  ['eachShare', { oracleShare: Number.NaN }],
  ['low', { low: 0 }],
  ['mixed', { mixed: 0.911 }],
  ['routingRollouts', { routingRollouts: 501 }],
  ['routingRollouts', { routingRollouts: null }],
  ['oracleGain', { oracle: 0.649 }],
])('one world that breaks %s is enough: %j', (limit, broken) => {
  expect(limitsMet([good, { ...good, ...broken }], pooled, 0)).toEqual({ ...all, [limit]: false });
});

test('exactly at a limit is within it', () => {
  const atTheLimit = { ...good, mixed: 0.91, oracle: 0.65, oracleShare: 0.8 };
  expect(limitsMet([atTheLimit], { ...pooled, estimate: 0.9 }, 0)).toEqual(all);
});

test('a low pooled share breaks its limit alone', () => {
  expect(limitsMet([good], { ...pooled, estimate: 0.899 }, 0)).toEqual({ ...all, pooledShare: false });
});

test('a world that could not be measured is no world that meets the limits', () => {
  expect(limitsMet([good], pooled, 1)).toEqual({ ...all, measured: false });
  expect(Object.values(limitsMet([], null, 1))).toEqual(Object.values(all).map(() => false));
});
