import type { EnvironmentTokens } from '../contracts/artifacts/environment-use';
import type { EnvironmentCall, EnvironmentMove, EnvironmentResult } from '../contracts/messages/environment-protocol';
import {
  type Evaluated,
  PROCESS_API_VERSION,
  type ProcessHello,
  type ProcessMethod,
  type ProcessParams,
  type ProcessResult,
} from '../contracts/messages/process-protocol';
import { ConcurrentProcess } from './concurrent-process';
import type { EnvironmentHandle } from './environment-handle';
import type { EnvironmentIsolation } from './environment-process';
import type { ProcessSource } from './environment-source';
import { SandboxError } from './errors';
import { startCommand } from './owner-command';
import { type LoadedProfile, programProfile } from './profile';

/** A place for a process, and the episodes that it plays. */
interface Place {
  process: Promise<ConcurrentProcess> | null;
  open: number;
}

interface OpenEpisode {
  place: Place;
  process: ConcurrentProcess;
  /** The episodes that are open in the process. After its end: those that were open then. */
  openInProcess: Set<string>;
  /** What is left of the episode's time in its environment, in milliseconds. The model's time does not count. */
  leftMs: number;
}

/** Longest wait for the answer to a drop, which only says what the episode has spent. */
const DROP_MS = 10_000;

/** What is missing where a process ends, or is silent, at once. */
const NOT_BEGUN = 'It has not answered `hello`, the first request on its standard input (docs/reference/protocols.md).';

/** Settings for tests. */
export interface OwnerProcessesOptions {
  /** Default: a minute. */
  silenceMs?: number;
}

/**
 * The processes of an agent owner's command, which share the episodes: at most `episodesPerProcess` at a time in one,
 * further ones wait. A process starts when it is needed, and again after its end; episodes in other processes go on. If
 * a process ends that plays one episode, that episode has failed with the cause `crash`. If it plays several, it is
 * unknown which one ended it, so each rejects with the error of the process and says nothing about its task.
 */
export class OwnerProcesses implements EnvironmentHandle {
  readonly sha256 = '';
  readonly takesWholeTurns = true;
  readonly name: string;
  /** Where the first process runs. */
  isolation: EnvironmentIsolation = 'owner-jail';
  /** What the first process says about itself. */
  hello!: ProcessHello;
  private described!: EnvironmentResult<'describe'>;
  private readonly places: Place[];
  private readonly episodes = new Map<string, OpenEpisode>();
  private readonly openIn = new WeakMap<ConcurrentProcess, Set<string>>();
  private readonly waiting: { resolve: (place: Place) => void; reject: (error: SandboxError) => void }[] = [];
  private closed = false;

  private constructor(
    private readonly source: ProcessSource,
    private readonly loaded: LoadedProfile,
    private readonly options: OwnerProcessesOptions,
  ) {
    this.name = source.name;
    this.places = Array.from({ length: source.launch.processes }, () => ({ process: null, open: 0 }));
  }

  /**
   * Starts the first process.
   * @throws SandboxUnavailable, Sandbox.CommandRefused, Sandbox.StartFailed.
   */
  static async open(
    source: ProcessSource,
    loaded: LoadedProfile,
    options: OwnerProcessesOptions = {},
  ): Promise<OwnerProcesses> {
    const opened = new OwnerProcesses(source, loaded, options);
    try {
      await opened.running(opened.places[0]!);
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** False only after `close`: a process that ended is started again. */
  get alive(): boolean {
    return !this.closed;
  }

  async describe(): Promise<EnvironmentResult<'describe'>> {
    return this.described;
  }

  async reset(episode: string, seed: number): Promise<ProcessResult<'reset'>> {
    const place = await this.freePlace();
    try {
      const process = await this.running(place);
      const openInProcess = this.openIn.get(process) ?? new Set();
      this.openIn.set(process, openInProcess.add(episode));
      const leftMs = this.source.launch.seconds.episode * 1000;
      this.episodes.set(episode, { place, process, openInProcess, leftMs });
    } catch (error) {
      this.leave(place);
      throw error;
    }
    return this.play('reset', { episode, ...this.taskOf(seed) });
  }

  step(episode: string, calls: EnvironmentCall[], text?: string): Promise<EnvironmentResult<'step'>> {
    return this.play('step', { episode, calls, ...(text !== undefined && { text }) });
  }

  say(episode: string, text: string): Promise<EnvironmentResult<'step'>> {
    return this.play('step', { episode, text });
  }

  async evaluate(episode: string): Promise<Evaluated> {
    const result = await this.play('evaluate', { episode });
    this.end(episode);
    return result;
  }

  async drop(episode: string): Promise<EnvironmentTokens | null> {
    const known = this.episodes.get(episode);
    if (known === undefined) return null;
    this.end(episode);
    // An episode that the process does not drop is its own affair.
    if (!known.process.alive) return null;
    const dropped = known.process.request('drop', { episode }, Math.min(DROP_MS, this.stepMs)).catch(() => null);
    return (await dropped)?.usage ?? null;
  }

  async namedTasks(): Promise<ProcessResult<'tasks'>['tasks']> {
    const waitMs = this.source.launch.seconds.start * 1000;
    return (await (await this.anyProcess()).request('tasks', {}, waitMs)).tasks;
  }

  async task(seed: number): Promise<Record<string, unknown>> {
    return (await (await this.anyProcess()).request('task', this.taskOf(seed), this.stepMs)).task;
  }

  async reference(seed: number): Promise<EnvironmentMove[]> {
    const { calls } = await (await this.anyProcess()).request('reference', this.taskOf(seed), this.stepMs);
    if (calls !== null) return calls;
    throw new SandboxError('Sandbox.BadRequest', `Environment ${this.name} has no reference solution of task ${seed}.`);
  }

  /** Ends the processes. Idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    for (const { reject } of this.waiting.splice(0)) reject(this.closedError());
    await Promise.all(
      this.places.map(async ({ process }) => {
        await (await process?.catch(() => null))?.close();
      }),
    );
  }

  private get stepMs(): number {
    return this.source.launch.seconds.step * 1000;
  }

  private closedError(): SandboxError {
    return new SandboxError('Sandbox.EnvironmentClosed', `Environment ${this.name} was closed.`);
  }

  /** The parameters of a task. @throws Sandbox.BadRequest for a seed without a named task, where tasks have names. */
  private taskOf(seed: number): { seed: number; task?: string } {
    const { tasks } = this.source;
    if (tasks === undefined) return { seed };
    const task = tasks[seed];
    if (task === undefined)
      throw new SandboxError('Sandbox.BadRequest', `Environment ${this.name} has no task with the seed ${seed}.`);
    return { seed, task };
  }

  /** A request of an episode. What fails ends the episode, and the process forgets it. */
  private async play<M extends 'reset' | 'step' | 'evaluate'>(
    method: M,
    params: ProcessParams[M],
  ): Promise<ProcessResult<M>> {
    const known = this.episodes.get(params.episode);
    if (known === undefined)
      throw new SandboxError('Sandbox.NoSuchEpisode', `There is no episode ${params.episode} in ${this.name}.`);
    const { judge, episode } = this.source.launch.seconds;
    const isLastTime = method !== 'evaluate' && known.leftMs < this.stepMs;
    const waitMs = method === 'evaluate' ? judge * 1000 : Math.max(1, Math.min(this.stepMs, known.leftMs));
    const limit = isLastTime ? `the ${episode} s of its whole episode (environment.seconds.episode)` : undefined;
    const began = performance.now();
    try {
      const result = await known.process.request(method, params, waitMs, limit);
      known.leftMs -= performance.now() - began;
      return result;
    } catch (error) {
      const failure = this.failureOf(error, known);
      const spent = await this.drop(params.episode);
      throw spent === null ? failure : withSpent(failure, spent);
    }
  }

  /** The failure of an episode: the end of a process that it had for itself is the cause `crash`. */
  private failureOf(error: unknown, { process, openInProcess }: OpenEpisode): unknown {
    const isOver = this.closed || process.alive || !(error instanceof SandboxError);
    if (isOver || openInProcess.size > 1 || error.type === 'Sandbox.EnvironmentClosed') return error;
    return new SandboxError('Sandbox.TaskFailed', error.message, { taskCause: 'crash', cause: error });
  }

  /** Ends an episode here, and gives its place to the next one. */
  private end(episode: string): void {
    const known = this.episodes.get(episode);
    if (known === undefined) return;
    this.episodes.delete(episode);
    if (known.process.alive) known.openInProcess.delete(episode);
    this.leave(known.place);
  }

  private leave(place: Place): void {
    const next = this.waiting.shift();
    if (next) next.resolve(place);
    else place.open--;
  }

  /** The place with the fewest episodes, of equals one that has a process. Waits while all are full. */
  private freePlace(): Promise<Place> {
    if (this.closed) return Promise.reject(this.closedError());
    const free = this.places
      .filter(({ open }) => open < this.source.launch.episodesPerProcess)
      .sort((a, b) => a.open - b.open || Number(b.process !== null) - Number(a.process !== null))[0];
    if (free === undefined) return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    free.open++;
    return Promise.resolve(free);
  }

  private anyProcess(): Promise<ConcurrentProcess> {
    return this.running(this.places.find(({ process }) => process !== null) ?? this.places[0]!);
  }

  /** The process of a place, which is started if there is none, or if it has ended. */
  private async running(place: Place): Promise<ConcurrentProcess> {
    for (;;) {
      if (this.closed) throw this.closedError();
      place.process ??= this.start();
      const starting = place.process;
      const process = await starting.catch((error: unknown) => {
        if (place.process === starting) place.process = null;
        throw error;
      });
      if (process.alive) return process;
      if (place.process === starting) place.process = null;
      await process.close();
    }
  }

  /** Starts a process and hears what it is. */
  private async start(): Promise<ConcurrentProcess> {
    const profile = programProfile(this.loaded);
    const { isolation, launched } = await startCommand(this.source, this.loaded);
    const process = new ConcurrentProcess(this.name, launched, profile.profile, this.options.silenceMs);
    const waitMs = this.source.launch.seconds.start * 1000;
    const ask = <M extends ProcessMethod>(method: M, params: ProcessParams[M]) =>
      process.request(method, params, waitMs);
    try {
      const hello = await ask('hello', { apiVersion: PROCESS_API_VERSION });
      const { packages = hello.packages } = this.source;
      if (packages !== hello.packages)
        throw new SandboxError(
          'Sandbox.CommandRefused',
          `Environment ${this.name} has other packages than when the run began. Restore them, or start a new run.`,
        );
      this.described = await ask('describe', {});
      this.hello = hello;
      this.isolation = isolation;
      return process;
    } catch (error) {
      await process.close();
      if (!(error instanceof SandboxError) || this.closed) throw error;
      const isDeath = ['Sandbox.EnvironmentDied', 'Sandbox.EnvironmentHung', 'Sandbox.BadOutput'].includes(error.type);
      throw isDeath
        ? new SandboxError('Sandbox.StartFailed', `${error.message}\n${NOT_BEGUN}`, { cause: error })
        : error;
    }
  }
}

/** The failure with what its episode has spent. One that says it itself is unchanged. */
function withSpent(failure: unknown, spent: EnvironmentTokens): unknown {
  if (!(failure instanceof SandboxError) || failure.spent !== null) return failure;
  const { type, message, traceback, taskCause } = failure;
  return new SandboxError(type, message, { traceback, taskCause, spent, cause: failure });
}
