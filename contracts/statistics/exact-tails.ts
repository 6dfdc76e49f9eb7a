/** P(at least `count` of independent events with these probabilities happen). */
export function chanceOfAtLeast(count: number, probabilities: readonly number[]): number {
  // By the number of events so far; the last cell is "count or more".
  const chances = new Float64Array(count + 1);
  chances[0] = 1;
  for (const p of probabilities)
    for (let k = count; k >= 0; k--)
      chances[k] = (k === count ? chances[k]! : chances[k]! * (1 - p)) + (k > 0 ? chances[k - 1]! * p : 0);
  return chances[count]!;
}

/** Events and trials of one group. */
export interface EventCount {
  events: number;
  trials: number;
}

/**
 * Fisher's exact test, one-sided: P(group `a` has at least its events), if all events fall on the trials of both groups
 * by chance.
 */
export function fisherExact(a: EventCount, b: EventCount): number {
  const events = a.events + b.events;
  const trials = a.trials + b.trials;
  // P(k events in a), up to a factor, by the ratio of neighbours from the smallest possible k on.
  const least = Math.max(0, events - b.trials);
  const most = Math.min(events, a.trials);
  let weight = 1;
  let total = 0;
  let tail = 0;
  for (let k = least; k <= most; k++) {
    total += weight;
    if (k >= a.events) tail += weight;
    weight *= ((a.trials - k) * (events - k)) / ((k + 1) * (trials - events - a.trials + k + 1));
  }
  return tail / total;
}
