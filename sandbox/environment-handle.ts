import type { EnvironmentTokens } from '../contracts/artifacts/environment-use';
import type { EnvironmentFacts } from '../contracts/config/environment-kinds/facts';
import type { EnvironmentCall, EnvironmentMove, EnvironmentResult } from '../contracts/messages/environment-protocol';
import type { Evaluated, ProcessHello, ProcessResult } from '../contracts/messages/process-protocol';
import type { EnvironmentIsolation } from './environment-process';

/** A running environment, as far as episodes use it. Everything rejects with a SandboxError. */
export interface EnvironmentHandle {
  readonly name: string;
  readonly isolation: EnvironmentIsolation;
  /** sha256 of the module; empty for a command. */
  readonly sha256: string;
  /** Whether requests can still be made. */
  readonly alive: boolean;
  /** What code may rely on, where no process says it; absent: a module is loaded, or `hello` says it. */
  readonly facts?: EnvironmentFacts;
  /** What a process of the agent's owner says about itself; absent: a module is loaded. */
  readonly hello?: ProcessHello;
  /** Whether one step takes all calls of a turn, and the text beside them; otherwise each call is a step. */
  readonly takesWholeTurns?: boolean;
  /** The named tasks of a process; null: every seed is a task. Absent for a module. */
  namedTasks?(): Promise<ProcessResult<'tasks'>['tasks']>;
  /** The environment's tools and its optional parts. */
  describe(): Promise<EnvironmentResult<'describe'>>;
  /** Starts an episode under an unused name. */
  reset(episode: string, seed: number): Promise<ProcessResult<'reset'>>;
  /** Makes the tool calls of one assistant turn, in order. `text`: what the agent said beside them. */
  step(episode: string, calls: EnvironmentCall[], text?: string): Promise<EnvironmentResult<'step'>>;
  /** Assistant text without a tool call. */
  say(episode: string, text: string): Promise<EnvironmentResult<'step'>>;
  /** Ends the episode. */
  evaluate(episode: string): Promise<Evaluated>;
  /** Drops an episode, running or not. Resolves with the tokens that it has spent; null: nobody says. */
  drop(episode: string): Promise<EnvironmentTokens | null>;
  /** The hidden task of a seed. */
  task(seed: number): Promise<Record<string, unknown>>;
  /** Moves that earn reward 1 according to the environment, where it has references. */
  reference(seed: number): Promise<EnvironmentMove[]>;
  close(): Promise<void>;
}
