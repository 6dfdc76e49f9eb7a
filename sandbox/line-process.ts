import { deathOf } from './death-of-process';
import { SandboxError } from './errors';
import type { LaunchedRuntime } from './launch';
import { BoundedTail, readLines } from './line-channel';
import type { JailProfile } from './profile';

/** How long to wait for the rest of stderr after a process has ended. */
const STDERR_GRACE_MS = 50;

/** What the owner of a LineProcess does with what it says. */
interface LineProcessHandlers {
  onLine: (line: string) => void;
  /** Called once, with the error for every request that waits. */
  onEnd: (failure: SandboxError) => void;
  /** Most bytes on stdout or stderr; Infinity: no limit of their sum. */
  logBytes: number;
}

/** A started process of an environment that answers in lines: its log, its end, and the error that says why. */
export class LineProcess {
  private ended: SandboxError | null = null;
  private readonly log: { stdout: BoundedTail; stderr: BoundedTail };
  private readonly exited: Promise<void>;

  constructor(
    /** Of the environment, for messages. */
    private readonly name: string,
    private readonly launched: LaunchedRuntime,
    private readonly profile: JailProfile,
    private readonly handlers: LineProcessHandlers,
  ) {
    const { lineBytes, logTailBytes } = profile.caps;
    const { logBytes, onLine } = handlers;
    const flood = (): void =>
      this.fail('Sandbox.OutputFlood', `wrote more than ${logBytes} bytes to stdout or stderr.`);
    this.log = {
      stdout: new BoundedTail(launched.stdout, logTailBytes, logBytes, flood),
      stderr: new BoundedTail(launched.stderr, logTailBytes, logBytes, flood),
    };
    readLines(launched.responses, lineBytes, onLine, (fault) => {
      const what = fault === 'not-utf8' ? 'bytes that are not UTF-8' : `a line over ${lineBytes} bytes`;
      this.fail('Sandbox.BadOutput', `answered with ${what}.`);
    });
    this.exited = new Promise((resolve) => {
      launched.child.once('error', (error) => {
        const message = `The process of environment ${name} could not be started: ${error.message}`;
        this.end(new SandboxError('Sandbox.StartFailed', message, { cause: error }));
      });
      launched.child.once('exit', (code, signal) => void this.reportExit(code, signal).then(resolve));
    });
  }

  /** Why the process ended; null while it runs. */
  get failure(): SandboxError | null {
    return this.ended;
  }

  /** Writes a line, without its newline. */
  write(line: string): void {
    this.launched.requests.write(`${line}\n`);
  }

  /** Ends the process for a fault; `what` completes the sentence that begins with the environment's name. */
  fail(type: SandboxError['type'], what: string): void {
    this.end(new SandboxError(type, `Environment ${this.name} ${what}`));
  }

  /** Closes the request pipe, then kills the process. Waiting requests get Sandbox.EnvironmentClosed. Idempotent. */
  async close(): Promise<void> {
    if (!this.ended) {
      this.setFailure(new SandboxError('Sandbox.EnvironmentClosed', `Environment ${this.name} was closed.`));
      this.launched.requests.end();
    }
    // While a caller waits for the process to end, the process keeps the program alive.
    this.launched.child.ref();
    const timer = setTimeout(() => this.launched.kill(), this.profile.wallMs.close);
    await this.exited;
    clearTimeout(timer);
  }

  /** The end of stdout and stderr, for messages. */
  lastLogLines(): { stdout: string; stderr: string } {
    return { stdout: this.log.stdout.text(), stderr: this.log.stderr.text() };
  }

  private async reportExit(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    if (!this.ended) {
      const { stderr } = this.launched;
      if (!stderr.readableEnded && !stderr.destroyed) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, STDERR_GRACE_MS);
          stderr.once('close', () => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
      const brokeMemoryLimitOf = this.launched.brokeMemoryLimit() ? this.profile.cgroup.memoryBytes : null;
      this.end(deathOf({ name: this.name, code, signal, stderr: this.log.stderr.text().trim(), brokeMemoryLimitOf }));
    }
    // A process without a jail may have left children in its group.
    this.launched.kill();
    this.launched.release();
  }

  private end(error: SandboxError): void {
    if (this.ended) return;
    this.setFailure(error);
    this.launched.kill();
  }

  private setFailure(error: SandboxError): void {
    this.ended = error;
    this.handlers.onEnd(error);
  }
}
