/** A made-up population of tasks for tests: kinds with known pass probabilities, sampled with a seed. */
import { type Outcome, pairOutcomes, type OutcomeTable } from '../../../activities/evaluate/outcome-table';
import { type RandomSource, randomSource } from '../../../activities/statistics/random';

/** One kind of task: its share of the population, its tags and each arm's chance to pass. */
export interface Kind {
  share: number;
  tags: string[];
  pass: Record<string, number>;
}

/**
 * `tasks` tasks drawn from the kinds, `trials` independent trials of each by each arm; task seeds start at `firstSeed`.
 */
export function drawOutcomes(
  kinds: readonly Kind[],
  tasks: number,
  trials: number,
  seed: number,
  firstSeed = 1000,
): { name: string; outcomes: Outcome[] }[] {
  const random = randomSource(seed);
  const names = Object.keys(kinds[0]!.pass);
  const arms = names.map((name) => ({ name, outcomes: [] as Outcome[] }));
  for (let task = 0; task < tasks; task++) {
    const kind = drawKind(kinds, random);
    for (const arm of arms) {
      for (let trial = 0; trial < trials; trial++) {
        arm.outcomes.push({
          task: { seed: firstSeed + task },
          trial,
          success: random.uniform() < kind.pass[arm.name]!,
          tags: kind.tags,
        });
      }
    }
  }
  return arms;
}

export const drawTable = (kinds: readonly Kind[], tasks: number, trials: number, seed: number): OutcomeTable =>
  pairOutcomes(drawOutcomes(kinds, tasks, trials, seed), trials);

function drawKind(kinds: readonly Kind[], random: RandomSource): Kind {
  let rest = random.uniform();
  for (const kind of kinds) {
    rest -= kind.share;
    if (rest < 0) return kind;
  }
  return kinds.at(-1)!;
}
