import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as later, setImmediate as nextRound } from 'node:timers/promises';
import type { OwnersCommand, ProgramSource } from './environment-source';
import { type CommandStart, isHidden, type ProgramStart, startCommand } from './owner-command';
import { loadProfile } from './profile';

/** How long a program's output may stay open after its end: without a jail, a child that left its group holds it. */
const OUTPUT_WAIT_MS = 1_000;

/** A command of a program that runs. */
export interface RunningProgram {
  stdout: Readable;
  stderr: Readable;
  /**
   * Resolves when it has ended, and its output has ended or a second has passed. Its code is null if a signal ended it.
   * `brokeMemoryLimit`: whether one of its processes was killed because the episode's memory was full.
   */
  ended: Promise<{ code: number | null; signal: string | null; brokeMemoryLimit: boolean }>;
  /** The folder in which it starts. */
  agentFolder: string;
  /** Whether something lies at an absolute path that its jail does not show. */
  hides: (path: string) => boolean;
  /** Kills it and all that it started. Harmless if it has ended. */
  kill: () => void;
}

/** Starts a command of a program; normally `launchProgram`. */
export type LaunchProgram = (source: ProgramSource, start: ProgramStart) => Promise<RunningProgram>;

/** Starts a command of the agent's owner in its jail. Rejects as `startCommand` does. */
export const launchProgram = async (source: OwnersCommand, start: CommandStart): Promise<RunningProgram> => {
  const { launched, isolation } = await startCommand(source, loadProfile(), start);
  const { child, stdout, stderr } = launched;
  const kill = () => launched.kill();
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
  // What it left running would keep its output open.
  void exit.then(kill);
  const outputs = [stdout, stderr].map((stream) => finished(stream, { writable: false }).catch(() => undefined));
  const ended = exit
    .then(async ([code, signal]) => {
      await Promise.race([Promise.all(outputs), later(OUTPUT_WAIT_MS, undefined, { ref: false })]);
      // If this process was busy for the whole second, it reads now what is left in the pipes.
      await nextRound();
      return { code, signal, brokeMemoryLimit: launched.brokeMemoryLimit() };
    })
    .finally(() => launched.release());
  const { agentFolder } = source.launch;
  const isJailed = isolation === 'owner-jail';
  const hides = (path: string): boolean => isJailed && isHidden(path, source.launch, start.writable);
  return { stdout, stderr, ended, agentFolder, hides, kill };
};
