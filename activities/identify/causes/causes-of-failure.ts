/** Iterations of the fit. In the worlds of `bench/causes.ts`, 5,000 change no estimate by more than 0.002. */
const ITERATIONS = 200;
/** Added to each count and, twice, to its total, so that no probability becomes 0 or 1. */
const PRIOR_COUNT = 0.25;

/** How failures come about: each lack fails an episode with a probability of its own, and so does anything else. */
export interface CausesOfFailure {
  /** P(failure) of an episode that lacks nothing. */
  otherwise: number;
  /** P(a lack fails the episode), by candidate. */
  fails: Float64Array;
}

/**
 * Fits a noisy-or: an episode succeeds if none of its lacks and nothing else fails it (Pearl 1988, section 4.3.2), by
 * expectation maximisation. `lacks` has an array for each candidate, `failed` is 1 for a failure; all are indexed by
 * trajectory.
 */
export function fitCauses(lacks: readonly Uint8Array[], failed: Uint8Array): CausesOfFailure {
  const trajectories = failed.length;
  const totals = lacks.map((lack) => lack.reduce((sum, value) => sum + value, 0));
  let causes: CausesOfFailure = { otherwise: 0.1, fails: new Float64Array(lacks.length).fill(0.3) };
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    let otherwise = 0;
    const caused = new Float64Array(lacks.length);
    for (let i = 0; i < trajectories; i++) {
      if (failed[i] === 0) continue;
      const risk = 1 - successChance(causes, lacks, i);
      otherwise += causes.otherwise / risk;
      for (let c = 0; c < lacks.length; c++) if (lacks[c]![i] === 1) caused[c]! += causes.fails[c]! / risk;
    }
    causes = {
      otherwise: shrunk(otherwise, trajectories),
      fails: caused.map((count, c) => shrunk(count, totals[c]!)),
    };
  }
  return causes;
}

const shrunk = (count: number, total: number): number => (count + PRIOR_COUNT) / (total + 2 * PRIOR_COUNT);

/** P(success) of trajectory `i`, without regard to the lack of candidate `without`. */
export function successChance(
  { otherwise, fails }: CausesOfFailure,
  lacks: readonly Uint8Array[],
  i: number,
  without = -1,
): number {
  let chance = 1 - otherwise;
  for (let c = 0; c < lacks.length; c++) if (c !== without && lacks[c]![i] === 1) chance *= 1 - fails[c]!;
  return chance;
}
