import type { Candidate } from '../../../contracts/artifacts/identification';
import { startOf } from '../../../contracts/clean-text';
import { contentKey } from '../../../llm';
import type { DiscoverAnswer } from '../prompts/discover';

const MAX_NAME = 80;
const MAX_SUMMARY = 120;
const MAX_DESCRIPTION = 2_000;
const MAX_NOT_TRAINABLE = 300;

/** A candidate, with the failed episodes in which the analyst found it lacking. */
export interface PooledCandidate extends Candidate {
  /** Ids of trajectories, each once. */
  episodes: readonly string[];
  /** Known from earlier runs of the agent. Its wording must not change, because its labels are stored by wording. */
  known: boolean;
}

/** kebab-case id of a name, at most 63 characters. A name without letters or digits gets a hash as its id. */
export function candidateId(name: string): string {
  const words =
    name
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const id = startOf(words.join('-'), 63).replace(/-+$/, '');
  return id || `capability-${contentKey(name).slice(0, 8)}`;
}

/**
 * Adds a discovery answer to the pool. Names with the same id are one candidate: it keeps the first wording and has the
 * episodes of both. The first reason why it is not trainable stays. `batch` has the trajectories that were shown as
 * episodes 1, 2, ...; an episode that succeeded shows nothing lacking.
 */
export function poolCandidates(
  pool: readonly PooledCandidate[],
  answer: DiscoverAnswer,
  batch: readonly { id: string; success: boolean }[],
): PooledCandidate[] {
  const merged = new Map(pool.map((candidate) => [candidate.id, candidate]));
  for (const { name, summary, description, episodes, notTrainable } of answer.capabilities) {
    const id = candidateId(name);
    const shown = episodes.flatMap((episode) => {
      const { id, success = true } = batch[episode - 1] ?? {};
      return id === undefined || success ? [] : [id];
    });
    const candidate = merged.get(id) ?? {
      id,
      name: cut(name, MAX_NAME),
      summary: cut(summary, MAX_SUMMARY),
      description: cut(description, MAX_DESCRIPTION),
      episodes: [],
      known: false,
    };
    const reason = candidate.notTrainable ?? (notTrainable?.trim() ? cut(notTrainable, MAX_NOT_TRAINABLE) : undefined);
    merged.set(id, {
      ...candidate,
      episodes: [...new Set([...candidate.episodes, ...shown])],
      ...(reason !== undefined && { notTrainable: reason }),
    });
  }
  return [...merged.values()];
}

/**
 * At most `max` candidates of the pool. First come the ids in `first`, which must be tried. Then come those that most
 * episodes show, ties by id. Last come the ids in `last`, known capabilities that no episode showed.
 */
export function selectCandidates(
  pool: readonly PooledCandidate[],
  max: number,
  first: readonly string[] = [],
  last: readonly string[] = [],
): Candidate[] {
  const byId = new Map(pool.map((candidate) => [candidate.id, candidate]));
  const named = (ids: readonly string[]) => ids.flatMap((id) => byId.get(id) ?? []);
  const shown = pool.filter(({ episodes, known }) => episodes.length > 0 || !known);
  shown.sort((a, b) => b.episodes.length - a.episodes.length || (a.id < b.id ? -1 : 1));
  return [...new Set([...named(first), ...shown, ...named(last)])]
    .slice(0, max)
    .map(({ episodes: _, known: __, ...candidate }) => candidate);
}

/**
 * The failures for each discovery call: a sample without repetition that depends only on the seed and the ids. With
 * fewer failures than `batches * batchSize` there are fewer batches.
 */
export function discoveryBatches<T extends { id: string }>(
  failures: readonly T[],
  seed: number,
  batches: number,
  batchSize: number,
): T[][] {
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
  return line.length > max ? `${startOf(line, max - 1)}…` : line;
}
