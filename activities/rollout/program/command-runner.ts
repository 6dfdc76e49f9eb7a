import {
  type LaunchProgram,
  type ProgramSource,
  type ProgramStart,
  type RunningProgram,
  SandboxError,
} from '../../../sandbox';
import { type CommandEnd, type CommandTime, endOfCommand, killed } from './run-command';

/** Runs the commands of a program, and ends them all. */
export class CommandRunner {
  private readonly running = new Set<RunningProgram>();
  private isClosed = false;

  constructor(
    private readonly environment: ProgramSource,
    private readonly launch: LaunchProgram,
  ) {}

  /**
   * Runs a command to its end, or until `until` settles: then it is killed, and its result is that of `until`. Rejects
   * with Sandbox.EnvironmentClosed after `close`, and with the errors of the launch.
   */
  async run<T = never>(start: ProgramStart, time: CommandTime, until?: Promise<T>): Promise<CommandEnd | T> {
    this.requireOpen();
    const running = await this.launch(this.environment, start);
    this.running.add(running);
    try {
      this.requireOpen();
      const ended = endOfCommand(running, time);
      const end = await (until === undefined ? ended : Promise.race([ended, until]));
      this.requireOpen();
      return end;
    } finally {
      time.pause();
      await killed(running);
      this.running.delete(running);
    }
  }

  /** Kills all that run; nothing starts any more. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.running].map(killed));
  }

  /** Why nothing runs after `close`. */
  closedError(): SandboxError {
    return new SandboxError('Sandbox.EnvironmentClosed', `The programs of ${this.environment.name} were ended.`);
  }

  private requireOpen(): void {
    if (this.isClosed) throw this.closedError();
  }
}
