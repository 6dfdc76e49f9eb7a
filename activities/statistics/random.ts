/** A source of uniform random numbers; the same seed gives the same sequence on every platform. */
export interface RandomSource {
  /** Uniform in [0, n), an integer. `n` must be at most 2^32. */
  below(n: number): number;
  /** Uniform in [0, 1). */
  uniform(): number;
}

/** Four 32-bit words, not all zero. */
export type RandomState = readonly [number, number, number, number];

/** xoshiro128++ from a seed; its state is filled by splitmix32. */
export function randomSource(seed: number): RandomSource {
  let mixed = seed | 0;
  const splitmix = () => {
    mixed = (mixed + 0x9e3779b9) | 0;
    let z = mixed;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  return randomFrom([splitmix(), splitmix(), splitmix(), splitmix()]);
}

/**
 * xoshiro128++ 1.0 (Blackman and Vigna 2021, "Scrambled linear pseudorandom number generators") from a given state. It
 * is used because `Math.random` cannot be seeded, and because 32-bit integer arithmetic gives the same bits everywhere.
 */
export function randomFrom(state: RandomState): RandomSource {
  let [a, b, c, d] = state;
  const next = () => {
    const sum = (a + d) | 0;
    const result = (((sum << 7) | (sum >>> 25)) + a) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = (d << 11) | (d >>> 21);
    return result;
  };
  return {
    // The bias of this map is below n / 2^32. With thousands of tasks, no reported digit shows it.
    below: (n) => ((next() * n) / 4294967296) >>> 0,
    uniform: () => next() / 4294967296,
  };
}

/**
 * Uniform numbers in [0, 1) from a seed, by mulberry32 (Ettinger 2017). It is another sequence than that of
 * `randomSource`: runs are repeatable only if both keep their sequences.
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
