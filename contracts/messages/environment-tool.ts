import type { Certificate } from '../artifacts/certificate';
import type { EnvironmentCheck } from '../artifacts/environment-check';
import type { EnvironmentSection } from '../config/environment-kinds';
import type { CommandFailureType } from '../failures/command-line';
import type { FailureType } from '../failures/run';
import type { SandboxFailureType } from '../failures/sandbox';
import type { ProgramTrial } from '../program-trial';
import type { TaskToTry, TaskTrial } from '../solvable-tasks';
import type { EnvironmentTool, OpeningMessage } from './environment-protocol';
import type { NamedTask } from './process-protocol';

/**
 * A line of JSON that `environment-tool` writes to its standard output for `whet env check`, `whet env run` and `whet
 * validate`.
 */
export type EnvironmentToolLine =
  /** One check has ended: the `done`th of `total`. */
  | { type: 'check'; done: number; total: number; check: EnvironmentCheck }
  /** All checks have ended. */
  | { type: 'certificate'; certificate: Certificate }
  /** An episode begins. */
  | { type: 'opening'; seed: number; tools: EnvironmentTool[]; messages: OpeningMessage[] }
  /** The environment's answer to a move. */
  | { type: 'observation'; move: unknown; observation: string; done: boolean }
  /** The episode is over. The reward is in [0, 1]. */
  | { type: 'end'; seed: number; reward: number }
  /** What a worker with the variables of this process does not run. */
  | { type: 'refused'; words: string }
  /** The agent's own environment is loaded. */
  | { type: 'loaded'; tools: EnvironmentTool[] }
  /** The ranges of the tasks that its command printed. */
  | ({ type: 'ranges' } & Pick<EnvironmentSection, 'trainSeeds' | 'heldOutSeeds'>)
  /** One of its tasks is about to be played. */
  | ({ type: 'trying' } & TaskToTry)
  /** It was played. */
  | ({ type: 'tried' } & TaskTrial)
  /** A program played one of its tasks to the end. */
  | { type: 'program'; trial: ProgramTrial }
  /** The named tasks that the agent's process knows, or its command printed; null: there are none. */
  | { type: 'tasks'; tasks: readonly NamedTask[] | null }
  /** Without `failure`, a line of the input was not a move. With `failure`, the tool could not fulfil the request. */
  | { type: 'error'; message: string; failure?: CommandFailureType | FailureType | SandboxFailureType };
