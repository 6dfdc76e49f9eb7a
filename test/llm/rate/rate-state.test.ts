// tier: unit
import {
  newRateState,
  ROUND_MS,
  takeFromBuckets,
  withObservations,
  type RateObservations,
  type RateState,
} from '../../../llm/rate/rate-state';

const news = (part: Partial<RateObservations> = {}): RateObservations => ({
  accepted: 0,
  pushedBack: 0,
  pausedUntil: 0,
  requestCeiling: null,
  tokenCeiling: null,
  ...part,
});

/**
 * An endpoint that accepts `capacity` requests a second; the worker sends as many as the state lets it, at most
 * `demand`.
 */
function simulate(
  capacity: number,
  demand: number,
  seconds: number,
  background = 0,
): { state: RateState; sent: number[]; accepted: number[] } {
  let state = newRateState(0);
  const [sent, accepted]: [number[], number[]] = [[], []];
  for (let now = 100; now <= seconds * 1000; now += 100) {
    const portion = takeFromBuckets(state, { requests: demand / 10, tokens: 1 }, now);
    const good = Math.min(portion.requests * (1 - background), capacity / 10);
    state = withObservations(portion.state, news({ accepted: good, pushedBack: portion.requests - good }), now);
    sent.push(portion.requests);
    accepted.push(good);
  }
  return { state, sent, accepted };
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

test('without a push-back there is no limit', () => {
  const { state, sent } = simulate(Infinity, 500, 10);
  expect(state.limit).toBeNull();
  expect(sum(sent)).toBe(5000);
});

test('the limit of an endpoint is found, mostly kept, and used', () => {
  const { sent, accepted } = simulate(40, 500, 60);
  const [late, good] = [sum(sent.slice(100)) / 50, sum(accepted.slice(100)) / 50];
  expect(good).toBeGreaterThan(30);
  expect(late / good).toBeLessThan(1.12);
});

test('faults that do not depend on the pace do not bring it down for good', () => {
  const { state, accepted } = simulate(Infinity, 100, 60, 0.3);
  expect(sum(accepted.slice(300)) / 30).toBeGreaterThan(50);
  expect(state.background).toBeGreaterThan(0.1);
});

test('an endpoint that is down is asked less and less', () => {
  const { sent } = simulate(0, 500, 120);
  expect(sum(sent.slice(-100)) / 10).toBeLessThanOrEqual(2);
});

test('a named limit is a ceiling, and a burst is half a second of it', () => {
  let state = withObservations(newRateState(0), news({ requestCeiling: 10 }), 0);
  let total = 0;
  for (let now = 0; now <= 10_000; now += 50) {
    const portion = takeFromBuckets(state, { requests: 1000, tokens: 1 }, now);
    total += portion.requests;
    state = withObservations(portion.state, news({ accepted: portion.requests }), now);
  }
  expect(total).toBeGreaterThan(90);
  expect(total).toBeLessThanOrEqual(105);
});

test('tokens have a bucket of their own, and a call larger than it goes through once', () => {
  const state = withObservations(newRateState(0), news({ tokenCeiling: 100 }), 0);
  const first = takeFromBuckets(state, { requests: 1, tokens: 5_000 }, 1_000);
  expect(first.tokens).toBe(5_000);
  expect(takeFromBuckets(first.state, { requests: 1, tokens: 1 }, 2_000).tokens).toBe(0);
  expect(takeFromBuckets(first.state, { requests: 1, tokens: 1 }, 60_000).tokens).toBe(1);
});

test('nothing is sent before the time that Retry-After named, and nothing is saved up meanwhile', () => {
  const state = {
    ...withObservations(newRateState(0), news({ pausedUntil: 5_000, requestCeiling: 10 }), ROUND_MS),
    requests: 0,
  };
  expect(takeFromBuckets(state, { requests: 5, tokens: 1 }, 4_999).requests).toBe(0);
  expect(takeFromBuckets(state, { requests: 50, tokens: 1 }, 5_100).requests).toBeLessThanOrEqual(1);
});
