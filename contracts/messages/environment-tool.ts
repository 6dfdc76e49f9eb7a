import type { Certificate } from '../artifacts/certificate';
import type { EnvironmentCheck } from '../artifacts/environment-check';
import type { CommandFailureType } from '../failures/command-line';
import type { FailureType } from '../failures/run';
import type { SandboxFailureType } from '../failures/sandbox';
import type { EnvironmentTool, OpeningMessage } from './environment-protocol';

/**
 * A line that `environment-tool` writes to its standard output, as JSON, for `whet env check`, `whet env run` and
 * `whet validate`.
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
  /** The episode is over. The reward lies in [0, 1]. */
  | { type: 'end'; seed: number; reward: number }
  /** The agent's own environment is loaded. */
  | { type: 'loaded'; tools: EnvironmentTool[] }
  /** A task of it is about to be played. */
  | { type: 'trying'; seed: number; range: 'trainSeeds' | 'heldOutSeeds' }
  /**
   * It was played. `reward`: of the reference solution, of which `moves` were made; `played` tells them.
   * `idleReward`: of an agent that says nothing. Rewards lie in [0, 1]; the success threshold is agent.yaml's.
   * `diagnostics`: ids that those of the solution name. `changes`: opening or solution were others when the task was
   * made again. `sha256`: of opening and solution.
   */
  | {
      type: 'tried';
      seed: number;
      range: 'trainSeeds' | 'heldOutSeeds';
      moves: number;
      reward: number;
      idleReward: number;
      diagnostics: string[];
      changes: boolean;
      sha256: string;
      played: string;
    }
  /** Without `failure`: a line of the input was not a move. With it: the tool could not do what was asked. */
  | { type: 'error'; message: string; failure?: CommandFailureType | FailureType | SandboxFailureType };
