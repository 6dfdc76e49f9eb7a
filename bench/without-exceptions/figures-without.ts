import { evaluateTable } from '../../activities/evaluate/evaluate-table';
import { type Outcome, pairOutcomes } from '../../activities/evaluate/outcome-table';
import type { Evaluation } from '../../contracts/artifacts/evaluation';

/** The arms of an evaluation, and the kind of each held-out task. */
export interface PlayedTasks {
  arms: { name: string; outcomes: Outcome[] }[];
  kinds: ReadonlyMap<number, string>;
  trials: number;
}

/** The evaluation's own statistics, computed again without the tasks of some kinds. */
export function figuresWithout(
  { arms, kinds, trials }: PlayedTasks,
  dropped: readonly string[],
  options: Parameters<typeof evaluateTable>[1],
): Evaluation {
  const isKept = (seed: number) => !dropped.includes(kinds.get(seed) ?? '');
  const kept = arms.map(({ name, outcomes }) => ({ name, outcomes: outcomes.filter(({ task }) => isKept(task.seed)) }));
  return evaluateTable(pairOutcomes(kept, trials), {
    ...options,
    routing: options.routing.filter(({ seed }) => isKept(seed)),
  });
}
