/** Tasks of an agent's own environment. `whet validate` tries them, and so does each run before it pays anything. */

/** A task of the agent, and the field of agent.yaml that contains it. */
export interface TaskToTry {
  seed: number;
  range: 'trainSeeds' | 'heldOutSeeds';
}

/** The result of trying a task. Rewards are in [0, 1]; the success threshold is agent.yaml's. */
export interface TaskTrial extends TaskToTry {
  /** Number of moves of the reference solution that were made. */
  moves: number;
  /** Of the reference solution; null: the environment has none. */
  reward: number | null;
  /** The reward of an agent that says nothing; null: only the agent's own program plays the task. */
  idleReward: number | null;
  /** Ids in the solution's diagnostics. */
  diagnostics: string[];
  /** How the task differed when it was made again, as the end of a sentence; null where it was the same. */
  changes: string | null;
  /** Of opening and solution. */
  sha256: string;
  /** The moves and answers in one line. */
  played: string;
}

/** Largest number of tasks that a message names. */
const MOST_NAMED = 3;

/** A task's name in messages: `task 17 of environment.trainSeeds`. */
export const taskName = ({ seed, range }: TaskToTry): string => `task ${seed} of environment.${range}`;

/**
 * Why no run is possible with an environment: a task changes each time it is made, or reference solutions fail. Null if
 * a run is possible.
 * @param file the environment's file, as messages name it.
 */
export function problemOfTrials(tried: readonly TaskTrial[], file: string, successReward: number): string | null {
  return changingTask(tried, file) ?? unsolvedTasks(tried, file, successReward);
}

/** Results on a task that changes cannot be compared. */
function changingTask(tried: readonly TaskTrial[], file: string): string | null {
  const changing = tried.find(({ changes }) => changes !== null);
  if (changing === undefined) return null;
  return (
    `${taskName(changing)} of ${file} is another one ${changing.changes}. Let generate_task, reset, step, evaluate and ` +
    'reference_solution depend on nothing but the seed and the moves: random.Random(seed), no clock, no hash(), no ' +
    'set whose order matters, nothing that is kept from one episode to the next.'
  );
}

/** If a reference solution fails, the run cannot recognise a success of the agent either. */
function unsolvedTasks(tried: readonly TaskTrial[], file: string, successReward: number): string | null {
  const unsolved = tried.filter(({ reward }) => reward !== null && reward < successReward);
  if (unsolved.length === 0) return null;
  const named = unsolved
    .slice(0, MOST_NAMED)
    .map((task) => `  ${taskName(task)} earns ${task.reward}; played: ${task.played}`);
  return [
    `reference solutions of ${file} earn less than environment.successReward (${successReward}) in ` +
      `${unsolved.length} of ${tried.length} tasks tried:`,
    ...named,
    ...(unsolved.length > MOST_NAMED ? [`  and ${unsolved.length - MOST_NAMED} more`] : []),
    'Correct reference_solution, so that it solves every task, or evaluate, so that it pays for the solution; ' +
      'where less is a success, lower environment.successReward.',
  ].join('\n');
}
