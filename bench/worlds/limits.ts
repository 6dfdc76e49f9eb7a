/** What a measurement of the worlds has to reach. */
import type { Interval } from '../../contracts/artifacts/evaluation';

/** Share of the oracle's gain that is served: over all worlds together, and in each. */
const LEAST_POOLED_SHARE = 0.9;
const LEAST_SHARE = 0.8;
/** What is served may be this much below the mixed adapter. */
const MOST_BELOW_MIXED = 0.01;
const MOST_ROLLOUTS = 500;
/** With a smaller gain of the oracle a world says nothing about routing. */
const LEAST_ORACLE_GAIN = 0.15;

/** The figures of a world that have limits; shares are in [0, 1]. */
export interface LimitedFigures {
  base: number;
  served: number;
  /** Null without a mixed adapter. */
  mixed: number | null;
  oracle: number;
  oracleShare: number;
  /** Lower end of the share's 95 % interval. */
  low: number;
  /** Null where the run does not say how its router was chosen. */
  routingRollouts: number | null;
}

/** Whether each limit is kept by all worlds. A figure that is missing keeps none. */
export interface Met {
  /** At least 90 % of the oracle's gain over all worlds together. */
  pooledShare: boolean;
  /** At least 80 % in each. */
  eachShare: boolean;
  /** The lower end of each share's interval is above 0. */
  low: boolean;
  /** Nowhere more than one point below the mixed adapter. */
  mixed: boolean;
  /** At most 500 rollouts for routing in each. */
  routingRollouts: boolean;
  /** The oracle gains at least 15 points in each. */
  oracleGain: boolean;
  /** Every world that was asked for was measured. */
  measured: boolean;
}

/** Holds the figures of all worlds against their limits. `pooled` is null when no world was measured. */
export function limitsMet(worlds: readonly LimitedFigures[], pooled: Interval | null, failed: number): Met {
  const each = (holds: (figures: LimitedFigures) => boolean) => worlds.length > 0 && worlds.every(holds);
  return {
    pooledShare: pooled !== null && pooled.estimate >= LEAST_POOLED_SHARE,
    eachShare: each(({ oracleShare }) => oracleShare >= LEAST_SHARE),
    low: each(({ low }) => low > 0),
    mixed: each(({ served, mixed }) => mixed === null || mixed - served <= MOST_BELOW_MIXED + ROUNDING),
    routingRollouts: each(({ routingRollouts }) => routingRollouts !== null && routingRollouts <= MOST_ROLLOUTS),
    oracleGain: each(({ oracle, base }) => oracle - base >= LEAST_ORACLE_GAIN - ROUNDING),
    measured: worlds.length > 0 && failed === 0,
  };
}

/** A difference of two means that is exactly at its limit may be off by this. */
const ROUNDING = 1e-9;
