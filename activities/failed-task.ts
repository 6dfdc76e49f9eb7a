import { SandboxError } from '../sandbox';

/** Number of tries of an episode whose simulator, judge or program fails. */
export const TASK_TRIES = 3;

/** Whether something other than the agent failed in one episode. It says nothing about the agent. */
export const isTaskFailure = (error: unknown): error is SandboxError =>
  error instanceof SandboxError && error.type === 'Sandbox.TaskFailed';

/**
 * Plays something again when its task failed, `TASK_TRIES` times in all. Rejects with the last failure, or with what
 * `play` throws.
 */
export async function againIfTaskFailed<T>(play: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await play();
    } catch (error) {
      if (!isTaskFailure(error) || tries === TASK_TRIES) throw error;
    }
  }
}
