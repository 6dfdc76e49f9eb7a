/** What each way of routing earned in the worlds, and what it cost: one table, with a row over all worlds together. */
import { mean } from '../../activities/statistics/mean';
import type { Interval } from '../../contracts/artifacts/evaluation';
import { meanOverTasks, shareOfOracle } from './outcome-figures';

/** One way of choosing arms. */
export interface Way {
  name: string;
  /** Pass rate of each held-out task. */
  rates: readonly number[];
  /** Rollouts on train tasks that were bought for it; null for an oracle, which buys none of them. */
  rollouts: number | null;
}

/** The ways of one world. Every world has those named `base` and `oracle`. */
export interface WorldWays {
  world: string;
  ways: readonly Way[];
}

/** A row of the table. */
export interface AblationRow {
  world: string;
  way: string;
  passes: number;
  gain: Interval;
  share: Interval;
  rollouts: number | null;
}

/** Name of the world in the rows over all worlds. */
export const POOLED = 'all worlds';
/** Names of the ways that all rows are compared with. */
export const BASE_WAY = 'base, no adapter';
export const ORACLE_WAY = 'oracle';

/**
 * Rows of every world, then those over the tasks of all worlds together, for the ways that every world has. Their
 * rollouts are added up.
 */
export function ablationRows(worlds: readonly WorldWays[], seed: number): AblationRow[] {
  const rows = worlds.flatMap((world) => rowsOf(world, seed));
  return worlds.length < 2 ? rows : [...rows, ...rowsOf(pooledWays(worlds), seed)];
}

function pooledWays(worlds: readonly WorldWays[]): WorldWays {
  const [first, ...others] = worlds as [WorldWays, ...WorldWays[]];
  const ways = first.ways.flatMap((way): Way[] => {
    const found = others.map(({ ways: theirs }) => theirs.find(({ name }) => name === way.name));
    if (found.some((theirs) => theirs === undefined)) return [];
    const all = [way, ...(found as Way[])];
    const rollouts = all.map((one) => one.rollouts);
    return [
      {
        ...way,
        rates: all.flatMap(({ rates }) => rates),
        rollouts: rollouts.some((count) => count === null) ? null : rollouts.reduce<number>((a, b) => a + (b ?? 0), 0),
      },
    ];
  });
  return { world: POOLED, ways };
}

function rowsOf({ world, ways }: WorldWays, seed: number): AblationRow[] {
  const ratesOf = (wanted: string): readonly number[] => {
    const found = ways.find(({ name }) => name === wanted);
    if (found === undefined) throw new RangeError(`${world} has no way named ${JSON.stringify(wanted)}.`);
    return found.rates;
  };
  const base = ratesOf(BASE_WAY);
  const oracle = minus(ratesOf(ORACLE_WAY), base);
  return ways.map(({ name, rates, rollouts }) => ({
    world,
    way: name,
    passes: mean(rates),
    gain: meanOverTasks(minus(rates, base), seed),
    share: shareOfOracle({ own: minus(rates, base), oracle }, seed),
    rollouts,
  }));
}

/** The table in Markdown. */
export function ablationTable(rows: readonly AblationRow[]): string {
  const head = [
    'world',
    'routing',
    'passes',
    'gain over base, points [95 %]',
    "share of the oracle's gain [95 %]",
    'rollouts',
  ];
  const lines = rows.map(({ world, way, passes, gain, share, rollouts }) => [
    world,
    way,
    percent(passes),
    points(gain),
    `${percent(share.estimate)} [${inPercent(share.low)}, ${inPercent(share.high)}]`,
    rollouts === null ? '–' : String(rollouts),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const minus = (a: readonly number[], b: readonly number[]) => a.map((value, task) => value - (b[task] as number));
const inPercent = (share: number) => (100 * share).toFixed(1);
const percent = (share: number) => `${inPercent(share)} %`;
const signed = (share: number) => `${share < 0 ? '' : '+'}${inPercent(share)}`;
const points = ({ estimate, low, high }: Interval) => `${signed(estimate)} [${signed(low)}, ${signed(high)}]`;
