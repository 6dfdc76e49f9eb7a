// tier: unit
import { numberOf, parsePassRule, verdictOf, verdictUnder } from '../../ingest/outcomes/outcome-value';

const pass = (reward = 1) => ({ success: true, reward });
const fail = (reward = 0) => ({ success: false, reward });

it.each([
  [true, pass()],
  ['True', pass()],
  ['RESOLVED', pass()],
  ...['closed', 'open', 'ok', 'done', 'completed'].map((state): [string, null] => [state, null]),
  ['thumbs-up', pass()],
  ['👎', fail()],
  ['not resolved', null],
  ['escalated', fail()],
  [0.5, pass(0.5)],
  ['0.49', fail(0.49)],
  [0.9999999999999999, pass(1)],
  [-1, fail()],
  [4, null],
  [null, null],
  [{}, null],
])('%p means %p', (value, verdict) => expect(verdictOf(value)).toEqual(verdict));

it('has another threshold where a format says so', () => {
  expect(verdictOf(0.9, 1)).toEqual(fail(0.9));
  expect(verdictOf(1, 1)).toEqual(pass(1));
  expect(verdictOf(1.2, 1)).toEqual(pass(1));
  expect(verdictOf(-0.5, 1)).toEqual(fail(0));
});

it.each([
  ['stars>=4', 4, pass()],
  ['stars >= 4', 3, fail()],
  ['stars >= 4', 1, fail()],
  ['score>=0.7', 0.8, pass(0.8)],
  ['errors<=0', '0', pass()],
  ['status=done well', 'Done Well', pass()],
  ['status=1', true, pass()],
  ['stars>=4', 'four', null],
])('%s of %p is %p', (text, value, verdict) => expect(verdictUnder(parsePassRule(text)!, value)).toEqual(verdict));

it.each(['stars', '>=4', 'stars>=', 'stars>=many'])('%p is no rule', (text) => expect(parsePassRule(text)).toBeNull());

it.each([
  ['', null],
  ['1e400', Infinity],
  ['0x10', null],
  ['5.', 5],
  // Nobody writes such a score, and trying it in all ways would take minutes.
  ['1'.repeat(50), null],
  [Number.NaN, null],
])('%p as a number is %p', (value, number) => expect(numberOf(value)).toBe(number));
