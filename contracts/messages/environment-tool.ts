import type { Certificate } from '../artifacts/certificate';
import type { EnvironmentCheck } from '../artifacts/environment-check';
import type { CommandFailureType } from '../failures/command-line';
import type { FailureType } from '../failures/run';
import type { SandboxFailureType } from '../failures/sandbox';
import type { EnvironmentTool, OpeningMessage } from './environment-protocol';

/** A line that `environment-tool` writes to its standard output, as JSON, for `whet env check` and `whet env run`. */
export type EnvironmentToolLine =
  /** One check has ended: the `done`th of `total`. */
  | { type: 'check'; done: number; total: number; check: EnvironmentCheck }
  /** All checks have ended. */
  | { type: 'certificate'; certificate: Certificate }
  /** An episode begins. */
  | { type: 'opening'; seed: number; tools: EnvironmentTool[]; messages: OpeningMessage[] }
  /** The environment's answer to a move. */
  | { type: 'observation'; move: unknown; observation: string; done: boolean }
  /**
   * A task was played with its reference solution, in so many moves, and without a move. Rewards lie in [0, 1]; the
   * success threshold is agent.yaml's.
   */
  | { type: 'tried'; seed: number; moves: number; reward: number; idleReward: number }
  /** The episode is over. The reward lies in [0, 1]. */
  | { type: 'end'; seed: number; reward: number }
  /** Without `failure`: a line of the input was not a move. With it: the tool could not do what was asked. */
  | { type: 'error'; message: string; failure?: CommandFailureType | FailureType | SandboxFailureType };
