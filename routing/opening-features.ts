/**
 * Converts openings of conversations to vectors of their words and word pairs, for routers that learn from openings.
 */
import { fnv1a } from './fnv1a';

/** Positions with their values, in ascending order of position. All other positions are 0. */
export interface SparseVector {
  positions: readonly number[];
  values: readonly number[];
}

/**
 * The known words and word pairs, as 32-bit hashes in ascending order, each with its weight. They are hashes, because
 * an opening may name a customer, and a router is kept for long.
 */
export interface Vocabulary {
  terms: readonly number[];
  weights: readonly number[];
}

/** A term that occurs in only one opening does not help to distinguish openings. */
const LEAST_OPENINGS = 2;

/** Largest number of terms: the most frequent ones are kept. */
const MOST_TERMS = 20_000;

/** Longer openings are cut, because a router must not spend a second on one request. */
const MOST_CHARACTERS = 20_000;

/** Hashes of the words and word pairs of a text, with the number of occurrences of each. */
function countTerms(text: string): Map<number, number> {
  const words =
    text
      .slice(0, MOST_CHARACTERS)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const counts = new Map<number, number>();
  const count = (term: string) => {
    const hash = fnv1a(term);
    counts.set(hash, (counts.get(hash) ?? 0) + 1);
  };
  words.forEach((word, i) => {
    count(word);
    if (i > 0) count(`${words[i - 1]} ${word}`);
  });
  return counts;
}

/**
 * The vocabulary of these openings. A term's weight is its inverse document frequency, ln((n + 1) / (k + 1)) + 1, where
 * k of n openings contain it.
 */
export function fitVocabulary(openings: readonly string[]): Vocabulary {
  const frequency = new Map<number, number>();
  for (const opening of openings)
    for (const term of countTerms(opening).keys()) frequency.set(term, (frequency.get(term) ?? 0) + 1);
  const kept = [...frequency]
    .filter(([, openingsWithIt]) => openingsWithIt >= LEAST_OPENINGS)
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .slice(0, MOST_TERMS)
    .sort((a, b) => a[0] - b[0]);
  return {
    terms: kept.map(([term]) => term),
    weights: kept.map(([, k]) => round(Math.log((openings.length + 1) / (k + 1)) + 1)),
  };
}

/** Makes a function that converts openings to vectors with a vocabulary. */
export function openingVectors({ terms, weights }: Vocabulary): (opening: string) => SparseVector {
  const places = new Map(terms.map((term, position) => [term, position]));
  return (opening) => {
    const found = [...countTerms(opening)]
      .flatMap(([term, count]): [number, number][] => {
        const position = places.get(term);
        // A word that occurs ten times is not ten times as important.
        return position === undefined ? [] : [[position, Math.sqrt(count) * (weights[position] as number)]];
      })
      .sort((a, b) => a[0] - b[0]);
    const length = Math.hypot(...found.map(([, value]) => value));
    return {
      positions: found.map(([position]) => position),
      values: found.map(([, value]) => value / length),
    };
  };
}

/** Inner product of two vectors. */
export function sparseProduct(a: SparseVector, b: SparseVector): number {
  let sum = 0;
  for (let i = 0, j = 0; i < a.positions.length && j < b.positions.length;) {
    const difference = (a.positions[i] as number) - (b.positions[j] as number);
    if (difference === 0) sum += (a.values[i++] as number) * (b.values[j++] as number);
    else if (difference < 0) i++;
    else j++;
  }
  return sum;
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;
