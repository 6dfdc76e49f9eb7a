import type { Interval } from '../../contracts/artifacts/evaluation';
import type { SecondReading } from '../../contracts/artifacts/second-reading';
import { wilson } from '../statistics/intervals';
import { type RandomSource, randomSource } from '../statistics/random';
import type { ReadRollout } from './judge-reading';

const DRAWS = 4_000;
const SEED = 1;

/** Labels of episodes that call for the capability, and of those that do not. */
interface LabelCounts {
  lacking: number;
  present: number;
  notCalledFor: number;
}

/**
 * The share LACKING among the base model's episodes that call for the capability: in an environment and in the target.
 *
 * The rollouts that were read are balanced between paid and not, so each of the two kinds has the weight of its share
 * among all rollouts. The interval is that of the posterior with Jeffreys' prior on each kind's labels, by simulation.
 * It reaches the estimate where this is 0 or 1 (the modified interval of Brown, Cai and DasGupta 2001, section 4.1.2).
 * The target's is Wilson's.
 * @param paidShare share of all base rollouts in the environment that were paid.
 */
export function compareLacking(
  read: readonly ReadRollout[],
  paidShare: number,
  target: Pick<LabelCounts, 'lacking' | 'present'>,
): SecondReading['lacking'] {
  const base = read.filter(({ source, label }) => source === 'base' && label !== null);
  const kinds = [true, false].map((isPaid) => ({
    weight: isPaid ? paidShare : 1 - paidShare,
    counts: countsOf(base.filter(({ paid }) => paid === isPaid)),
  }));
  const called = target.lacking + target.present;
  const targetShare: Interval | null =
    called === 0 ? null : { estimate: target.lacking / called, ...wilson(target.lacking / called, called) };
  const estimate = weightedShare(kinds.map(({ weight, counts }) => ({ weight, shares: sharesOf(counts) })));
  if (estimate === null) return { here: null, target: targetShare, isLess: false };
  const random = randomSource(SEED);
  const draws = Array.from({ length: DRAWS }, () => ({
    here: weightedShare(kinds.map(({ weight, counts }) => ({ weight, shares: drawn(counts, random) }))) ?? 0,
    there: drawn({ ...target, notCalledFor: null }, random).lacking,
  }));
  const here = draws.map((draw) => draw.here).sort((a, b) => a - b);
  const notLess = draws.filter((draw) => draw.here >= draw.there).length / DRAWS;
  return {
    here: {
      estimate,
      low: Math.min(estimate, here[Math.floor(0.025 * DRAWS)]!),
      high: Math.max(estimate, here[Math.ceil(0.975 * DRAWS) - 1]!),
    },
    target: targetShare,
    isLess: targetShare !== null && notLess <= 0.05,
  };
}

function countsOf(rollouts: readonly ReadRollout[]): LabelCounts {
  const count = (wanted: ReadRollout['label']): number => rollouts.filter(({ label }) => label === wanted).length;
  return { lacking: count('LACKING'), present: count('PRESENT'), notCalledFor: count('NA') };
}

interface Shares {
  lacking: number;
  present: number;
}

/** Observed shares of all episodes of a kind; null without any. */
function sharesOf({ lacking, present, notCalledFor }: LabelCounts): Shares | null {
  const all = lacking + present + notCalledFor;
  return all === 0 ? null : { lacking: lacking / all, present: present / all };
}

/** Share LACKING among those that call for it; null if none does. Kinds without episodes are left out. */
function weightedShare(kinds: readonly { weight: number; shares: Shares | null }[]): number | null {
  const sum = (name: keyof Shares): number =>
    kinds.reduce((total, { weight, shares }) => total + weight * (shares?.[name] ?? 0), 0);
  const [lacking, present] = [sum('lacking'), sum('present')];
  return lacking + present === 0 ? null : lacking / (lacking + present);
}

/** Shares drawn from the Dirichlet posterior with Jeffreys' prior. `notCalledFor` null: there is no such label. */
function drawn(counts: Omit<LabelCounts, 'notCalledFor'> & { notCalledFor: number | null }, random: RandomSource) {
  const [lacking, present] = [gamma(counts.lacking, random), gamma(counts.present, random)];
  const total = lacking + present + (counts.notCalledFor === null ? 0 : gamma(counts.notCalledFor, random));
  return { lacking: lacking / total, present: present / total };
}

/** A gamma variate of shape `count` + 1/2: exponentials, and one more times an arcsine variate for the half. */
function gamma(count: number, random: RandomSource): number {
  const exponential = (): number => -Math.log(1 - random.uniform());
  let sum = exponential() * Math.cos(2 * Math.PI * random.uniform()) ** 2;
  for (let i = 0; i < count; i++) sum += exponential();
  return sum;
}
