import type { OpenEnvironment } from '../../activities/environment';
import { SandboxError } from '../../sandbox';

/** An episode that an environment is asked to open. */
export interface Attempt {
  seed: number;
  /** Null: the task is opened outside of a rollout. */
  trial: number | null;
  /** Counts the episodes of this task and trial, from 1. */
  tries: number;
}

/** Where an episode fails, and because of what. */
export interface TaskFailure {
  at: 'reset' | 'step' | 'evaluate';
  cause: string;
}

/**
 * Stands in for an environment whose simulator or judge fails: the wrapped environment plays, and some of its episodes
 * end with `Sandbox.TaskFailed`. `attempts` has every episode that was opened.
 */
export function failingEnvironment(
  open: OpenEnvironment,
  fails: (attempt: Attempt) => TaskFailure | null,
): { open: OpenEnvironment; attempts: Attempt[] } {
  const attempts: Attempt[] = [];
  const attemptOf = new Map<string, Attempt>();
  const begin = (episode: string, seed: number): void => {
    const trial = /^\d+-(\d+)-\d+$/.exec(episode)?.[1];
    const attempt = { seed, trial: trial === undefined ? null : Number(trial) };
    const tries = attempts.filter((one) => one.seed === seed && one.trial === attempt.trial).length + 1;
    attemptOf.set(episode, { ...attempt, tries });
    attempts.push({ ...attempt, tries });
  };
  const failAt = (place: TaskFailure['at'], episode: string): void => {
    const failure = fails(attemptOf.get(episode)!);
    if (failure?.at !== place) return;
    throw new SandboxError('Sandbox.TaskFailed', `The ${failure.cause} did not answer.`, { taskCause: failure.cause });
  };
  return {
    attempts,
    open: async (environment) => {
      const handle = await open(environment);
      return new Proxy(handle, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          return async (...given: unknown[]) => {
            if (name === 'reset') begin(...(given as [string, number]));
            if (name === 'reset' || name === 'step' || name === 'evaluate') failAt(name, given[0] as string);
            return (value as (...all: unknown[]) => unknown).apply(target, given);
          };
        },
      });
    },
  };
}
