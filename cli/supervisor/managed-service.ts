import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { logTail } from './log-tail';
import { endProcesses, findProcess, processesOfGroup, type ProcessId } from './processes';
import type { Service } from './services';
import type { ServiceState } from './supervisor-state';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 20_000;
/** After this time, the next restart of a process uses the first, short delay again. */
const STEADY_MS = 30_000;
const PROBE_MS = 250;
/**
 * Interval of the checks of a ready service, and the number of failed checks in a row after which it counts as hung:
 * two minutes in total.
 */
const WATCH: Watch = { everyMs: 5_000, misses: 24 };

interface Watch {
  everyMs: number;
  misses: number;
}

/** One service under supervision: it is started, watched, and restarted with growing delays when it dies or hangs. */
export class ManagedService {
  readonly state: ServiceState;
  /** Last line of output of a run-once service that succeeded. */
  result: string | null = null;
  private child: ChildProcess | null = null;
  /** Whether the process was killed because it did not answer. */
  private silent = false;
  private stopping = false;
  private hasWorked = false;
  private readonly wake = new AbortController();

  constructor(
    private readonly service: Service,
    log: string,
    private readonly changed: () => void,
    private readonly watch: Watch = WATCH,
  ) {
    const note = service.needs.length === 0 ? '' : `waits for ${service.needs.join(', ')}`;
    this.state = { name: service.name, status: 'waiting', process: null, restarts: 0, url: service.url, log, note };
  }

  /** Keeps the service running until `stop`. Resolves then, or when a run-once service has ended. */
  async run(): Promise<void> {
    let delay = FIRST_DELAY_MS;
    while (!this.stopping) {
      const began = Date.now();
      const ended = this.start();
      void this.probeUntilReady(began).then(() => this.watchForSilence());
      const code = await ended;
      if (this.service.isHeavy === true && this.child?.pid !== undefined)
        await endProcesses(processesOfGroup(this.child.pid), 0);
      this.state.process = null;
      if (this.stopping) break;
      if (this.service.once === true) return this.finish(code);
      if (this.service.isHeavy === true && !this.hasWorked && code.startsWith('exit code'))
        return this.update('failed', `ended with ${code}`);
      if (Date.now() - began > STEADY_MS) delay = FIRST_DELAY_MS;
      this.state.restarts += 1;
      const why = this.silent
        ? `gave no answer for ${(this.watch.everyMs * this.watch.misses) / 1000} s and was killed`
        : `ended with ${code}`;
      this.silent = false;
      this.update('restarting', `${why}, starts again in ${(delay / 1000).toFixed(1)} s`);
      await sleep(delay, undefined, { signal: this.wake.signal }).catch(() => undefined);
      delay = Math.min(delay * 2, LONGEST_DELAY_MS);
    }
    this.update('stopped', '');
  }

  /** Ends the process: SIGTERM, and SIGKILL after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    this.wake.abort();
    const { process } = this.state;
    if (process === null) this.update('stopped', '');
    else await endProcesses([process], graceMs);
  }

  /** Resolves with true once the service is ready or done, and with false once it has failed or stopped. */
  async settled(): Promise<boolean> {
    for (;;) {
      const { status } = this.state;
      if (status === 'ready' || status === 'done') return true;
      if (status === 'failed' || status === 'stopped') return false;
      await sleep(50);
    }
  }

  /** Starts the process. Resolves with its end, such as `exit code 1` or `signal SIGKILL`. Never throws. */
  private async start(): Promise<string> {
    try {
      return await this.spawnOnce();
    } catch (error) {
      // Without memory or file handles the system cannot start a process; later it may.
      return (error as Error).message;
    }
  }

  private spawnOnce(): Promise<string> {
    const log = openLog(this.state.log);
    const output = this.service.once === true ? openLog(this.resultPath, 'w') : log;
    let child: ChildProcess;
    try {
      writeLine(log, `--- ${new Date().toISOString()} start ${this.service.name}`);
      child = spawn(this.service.command, this.service.arguments(), {
        env: { ...process.env, ...this.service.environment() },
        // The process has its own process group. So Ctrl-C in the terminal reaches only the supervisor, which stops
        // services in order.
        detached: true,
        stdio: ['ignore', output, log],
      });
    } finally {
      closeSync(log);
      if (output !== log) closeSync(output);
    }
    this.child = child;
    this.state.process = child.pid === undefined ? null : findProcess(child.pid);
    this.update('starting', '');
    return new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
  }

  private get resultPath(): string {
    return `${this.state.log}.out`;
  }

  /** Marks the service as failed because a service that it needs failed; `note` says which. */
  block(note: string): void {
    this.update('failed', note);
  }

  private async probeUntilReady(began: number): Promise<void> {
    const { child } = this;
    while (
      this.child === child &&
      this.state.process !== null &&
      this.state.status === 'starting' &&
      this.service.once !== true
    ) {
      const id = this.state.process;
      const ready = await this.service.isReady(id, began);
      if (ready && this.child === child && this.state.process === id) {
        this.hasWorked = true;
        return this.update('ready', '');
      }
      await sleep(PROBE_MS);
    }
  }

  /** Kills a ready service that no longer answers; `run` then starts it again. */
  private async watchForSilence(): Promise<void> {
    const { process: id } = this.state;
    const stillWorks = () => this.service.stillWorks?.() ?? this.service.isReady(id as ProcessId, 0);
    let misses = 0;
    while (id !== null && this.state.process === id && this.state.status === 'ready' && !this.stopping) {
      await sleep(this.watch.everyMs, undefined, { signal: this.wake.signal }).catch(() => undefined);
      misses = (await stillWorks()) ? 0 : misses + 1;
      if (misses < this.watch.misses || this.state.process !== id || this.stopping) continue;
      this.silent = true;
      await endProcesses([id], 0);
      return;
    }
  }

  private finish(code: string): void {
    if (code !== 'exit code 0') return this.update('failed', `ended with ${code}`);
    this.result = logTail(this.resultPath, 1);
    if (this.result === '') return this.update('failed', `ended well, but its result is not in ${this.resultPath}`);
    this.update('done', '');
  }

  private update(status: ServiceState['status'], note: string): void {
    this.state.status = status;
    this.state.note = note;
    this.changed();
  }
}

/** Opens a log. If that fails, for example on a full disk, the service runs without one. */
function openLog(path: string, flags: 'a' | 'w' = 'a'): number {
  try {
    return openSync(path, flags);
  } catch {
    return openSync(devNull, 'w');
  }
}

function writeLine(log: number, line: string): void {
  try {
    writeSync(log, `${line}\n`);
  } catch {
    // The disk is full, and the supervisor's state says so.
  }
}
