import type { Merge } from '../../../contracts/artifacts/identification';
import { startOf } from '../../../contracts/clean-text';
import type { MergeAnswer } from '../prompts/merge';
import type { PooledCandidate } from './candidate-pool';

const MAX_REASON = 300;

/**
 * Merges each group of candidates that mean the same according to the analyst, and lists each merge. A group keeps the
 * wording known from earlier runs, else the wording of the candidate with most episodes. If several have the most, the
 * first of them counts. Numbers outside the list and members of an earlier group are ignored. A group of fewer than two
 * members is ignored, too.
 */
export function mergeCandidates(
  pool: readonly PooledCandidate[],
  { groups }: MergeAnswer,
): { pool: PooledCandidate[]; merges: Merge[] } {
  const into = new Map<string, PooledCandidate>();
  const gone = new Set<string>();
  const merges: Merge[] = [];
  for (const { members, reason } of groups) {
    const free = [...new Set(members)]
      .flatMap((number) => pool[number - 1] ?? [])
      .filter(({ id }) => !into.has(id) && !gone.has(id));
    if (free.length < 2) continue;
    const keeper = free.reduce((best, candidate) => (rank(candidate) > rank(best) ? candidate : best));
    into.set(keeper.id, { ...keeper, episodes: [...new Set(free.flatMap(({ episodes }) => episodes))] });
    for (const { id, name, description } of free.filter((candidate) => candidate !== keeper)) {
      gone.add(id);
      merges.push({ id, name, description, into: keeper.id, reason: startOf(reason, MAX_REASON) });
    }
  }
  return {
    pool: pool.filter(({ id }) => !gone.has(id)).map((candidate) => into.get(candidate.id) ?? candidate),
    merges,
  };
}

const rank = ({ known, episodes }: PooledCandidate): number => (known ? 1e9 : 0) + episodes.length;
