import type { EnvironmentHandle } from '../environment';
import { mapInParallel } from '../in-parallel';
import { type EnvironmentTask, promptOf, TASKS_AT_ONCE } from './environment-task';
import { play } from './play';
import type { SolvedOpening } from './solution-forms';

/** A task with its request, and the answers to the moves of its reference solution. */
export interface SolvedTask extends EnvironmentTask, SolvedOpening {}

/**
 * Plays the reference solution of each task.
 * @throws SandboxError when the environment fails; the signal's reason.
 */
export function playReferences(
  environment: EnvironmentHandle,
  tasks: readonly EnvironmentTask[],
  signal: AbortSignal,
): Promise<SolvedTask[]> {
  return mapInParallel(tasks, TASKS_AT_ONCE, signal, async (task) => {
    const { observations } = await play(environment, task.seed, task.reference);
    return { ...task, prompt: promptOf(task), observations };
  });
}
