import type { Candidate } from '../../contracts';
import { contentKey } from '../../llm';
import type { DiscoverAnswer } from './prompts/discover';

const MAX_NAME = 80;
const MAX_SUMMARY = 120;
const MAX_DESCRIPTION = 2_000;

/** A candidate with the number of failed episodes that the analyst said lack it. */
export interface PooledCandidate extends Candidate {
  episodes: number;
}

/** kebab-case id of a name, at most 63 characters; a name without letters or digits gives a hash. */
export function candidateId(name: string): string {
  const words =
    name
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const id = words.join('-').slice(0, 63).replace(/-+$/, '');
  return id || `capability-${contentKey(name).slice(0, 8)}`;
}

/**
 * Adds a discovery answer to the pool. Names with the same id are one candidate: its wording is the first one's, its episodes are the
 * sum. Order: as first named. `batchSize` bounds the episode numbers that count.
 */
export function poolCandidates(pool: readonly PooledCandidate[], answer: DiscoverAnswer, batchSize: number): PooledCandidate[] {
  const merged = new Map(pool.map((candidate) => [candidate.id, candidate]));
  for (const { name, summary, description, episodes } of answer.capabilities) {
    const id = candidateId(name);
    const shown = new Set(episodes.filter((episode) => episode >= 1 && episode <= batchSize)).size;
    const known = merged.get(id);
    const added = { id, name: cut(name, MAX_NAME), summary: cut(summary, MAX_SUMMARY), description: cut(description, MAX_DESCRIPTION), episodes: 0 };
    merged.set(id, { ...(known ?? added), episodes: (known?.episodes ?? 0) + shown });
  }
  return [...merged.values()];
}

/** The `max` candidates shown by most episodes, most first; ties by id. */
export function selectCandidates(pool: readonly PooledCandidate[], max: number): Candidate[] {
  return [...pool]
    .sort((a, b) => b.episodes - a.episodes || (a.id < b.id ? -1 : 1))
    .slice(0, max)
    .map(({ id, name, summary, description }) => ({ id, name, summary, description }));
}

/**
 * Which failures each discovery call shows: a sample without repetition that depends on the seed and the ids alone. Fewer failures than
 * `batches * batchSize` give fewer batches.
 */
export function discoveryBatches<T extends { id: string }>(failures: readonly T[], seed: number, batches: number, batchSize: number): T[][] {
  const drawn = failures
    .map((failure) => ({ failure, rank: contentKey('discovery', String(seed), failure.id) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, batches * batchSize)
    .map(({ failure }) => failure);
  const count = Math.ceil(drawn.length / batchSize);
  return Array.from({ length: count }, (_, i) => drawn.slice(i * batchSize, (i + 1) * batchSize));
}

function cut(text: string, max: number): string {
  const line = text.trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
