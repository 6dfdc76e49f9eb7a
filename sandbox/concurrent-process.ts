import type { z } from 'zod';
import { startOf } from '../contracts/clean-text';
import {
  type ProcessErrorBody,
  processLineSchema,
  type ProcessMethod,
  type ProcessParams,
  type ProcessResult,
  processResultSchemas,
} from '../contracts/messages/process-protocol';
import { SandboxError } from './errors';
import type { LaunchedRuntime } from './launch';
import { parseLine } from './line-channel';
import { LineProcess } from './line-process';
import type { JailProfile } from './profile';

interface Pending {
  method: ProcessMethod;
  resolve: (result: never) => void;
  reject: (error: SandboxError) => void;
  timer: NodeJS.Timeout;
}

/** A process without a beat for this long, while requests wait, hangs. It beats every 10 s. */
const SILENCE_MS = 60_000;
/** Most bytes of log in a minute: a process may run for days, and one that writes more hinders the machine. */
const LOG_BYTES_A_MINUTE = 64 * 2 ** 20;
/** What a beat counts of them: reading one costs more than its bytes. */
const BEAT_BYTES = 1024;
/** The methods of an episode: their failures concern this episode alone. */
const OF_EPISODE: readonly ProcessMethod[] = ['reset', 'step', 'evaluate'];

/**
 * One process that speaks version 2 of the environment protocol: many requests are in flight, each with its own
 * deadline, and a request that fails fails alone. The process is killed only if it is silent while requests wait, or
 * if it breaks the protocol. After that this object is unusable.
 */
export class ConcurrentProcess {
  private readonly pending = new Map<number, Pending>();
  /** Requests whose deadline has passed; their answers may still come. */
  private readonly givenUp = new Set<number>();
  private lastId = 0;
  private lastHeard = 0;
  private silence: NodeJS.Timeout | null = null;
  private logged = { bytes: 0, since: performance.now() };
  private readonly process: LineProcess;

  /** @param silenceMs for tests. */
  constructor(
    private readonly name: string,
    launched: LaunchedRuntime,
    private readonly profile: JailProfile,
    private readonly silenceMs = SILENCE_MS,
  ) {
    this.process = new LineProcess(name, launched, profile, {
      onLine: (line) => this.receive(line),
      onEnd: (failure) => this.rejectAll(failure),
      logBytes: Infinity,
    });
    for (const stream of [launched.stdout, launched.stderr])
      stream.on('data', (chunk: Buffer) => this.countLog(chunk.length));
  }

  /** Whether requests can still be made. */
  get alive(): boolean {
    return this.process.failure === null;
  }

  /**
   * Makes a request. Rejects with Sandbox.TaskFailed if it is one of an episode and fails alone: cause `deadline` after
   * `waitMs`, `raised` if the code raised or returned something wrong, or the cause that the process names. Other
   * errors are those of the process as a whole, or of a request that was wrong.
   * @param limit what `waitMs` is, for the message.
   */
  request<M extends ProcessMethod>(
    method: M,
    params: ProcessParams[M],
    waitMs: number,
    limit = `${waitMs / 1000} s`,
  ): Promise<ProcessResult<M>> {
    const { failure } = this.process;
    if (failure) return Promise.reject(failure);
    const id = ++this.lastId;
    const line = JSON.stringify({ id, method, params });
    if (Buffer.byteLength(line) + 1 > this.profile.caps.lineBytes) {
      const message = `The ${method} request is over the protocol's ${this.profile.caps.lineBytes} bytes a line.`;
      return Promise.reject(new SandboxError('Sandbox.BadRequest', message));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.giveUp(id, limit), waitMs);
      this.pending.set(id, { method, resolve, reject, timer });
      if (this.pending.size === 1) this.lastHeard = performance.now();
      this.silence ??= this.listenFor(this.silenceMs);
      this.process.write(line);
    });
  }

  /** Ends the process. Rejects waiting requests with Sandbox.EnvironmentClosed. Idempotent. */
  close(): Promise<void> {
    return this.process.close();
  }

  /** Ends the request alone: the process goes on with the others. */
  private giveUp(id: number, limit: string): void {
    const { method, reject } = this.take(id)!;
    this.givenUp.add(id);
    const message = `Environment ${this.name} did not answer ${method} within ${limit}.`;
    reject(
      OF_EPISODE.includes(method)
        ? new SandboxError('Sandbox.TaskFailed', message, { taskCause: 'deadline' })
        : new SandboxError('Sandbox.EnvironmentHung', message),
    );
  }

  /** Removes a request that waits; undefined if it does not. */
  private take(id: number): Pending | undefined {
    const taken = this.pending.get(id);
    if (taken) clearTimeout(taken.timer);
    this.pending.delete(id);
    return taken;
  }

  private receive(line: string): void {
    if (!this.alive) return;
    const read = this.parse(line);
    if (read === null) {
      const what = JSON.stringify(startOf(line, 200));
      return this.process.fail('Sandbox.BadOutput', `answered with something the protocol does not allow: ${what}`);
    }
    this.lastHeard = performance.now();
    if ('beat' in read) return this.countLog(BEAT_BYTES);
    const pending = this.take(read.id);
    if (!pending) {
      if (!this.givenUp.delete(read.id))
        this.process.fail('Sandbox.BadOutput', `answered request ${read.id}, which was not made or has its answer.`);
      return;
    }
    if ('error' in read) return pending.reject(this.errorOf(pending.method, read.error));
    const schema: z.ZodType = processResultSchemas[pending.method];
    const result = schema.safeParse(read.result);
    if (result.success) return pending.resolve(result.data as never);
    const [fault] = result.error.issues;
    const message = `the answer to ${pending.method} is not as it should be: ${fault!.path.join('.')}: ${fault!.message}.`;
    pending.reject(this.errorOf(pending.method, { type: 'BadReturn', message, traceback: null, cause: 'raised' }));
  }

  private parse(line: string): z.infer<typeof processLineSchema> | null {
    return processLineSchema.safeParse(parseLine(line, this.profile.caps.depth + 8)).data ?? null;
  }

  private errorOf(method: ProcessMethod, { type, message, traceback, cause, usage }: ProcessErrorBody): SandboxError {
    const text = `Environment ${this.name}: ${message}${traceback ? `\n${traceback}` : ''}`;
    const failsAlone = type === 'TaskFailed' || (OF_EPISODE.includes(method) && type !== 'BadRequest');
    if (!failsAlone) return new SandboxError(`Sandbox.${type}`, text, { traceback });
    const taskCause = type === 'TaskFailed' ? cause : 'raised';
    return new SandboxError('Sandbox.TaskFailed', text, { traceback, taskCause, spent: usage ?? null });
  }

  /** Looks after a while whether the process was silent. What it has written is read before it is blamed. */
  private listenFor(ms: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.checkSilence()), ms).unref();
  }

  private checkSilence(): void {
    this.silence = null;
    if (!this.alive || this.pending.size === 0) return;
    const left = this.lastHeard + this.silenceMs - performance.now();
    if (left > 0) this.silence = this.listenFor(left);
    else
      this.process.fail(
        'Sandbox.EnvironmentHung',
        `was silent for ${this.silenceMs / 1000} s while ${this.pending.size} requests waited; its process was killed.`,
      );
  }

  private countLog(bytes: number): void {
    const now = performance.now();
    if (now - this.logged.since > 60_000) this.logged = { bytes: 0, since: now };
    this.logged.bytes += bytes;
    if (this.logged.bytes > LOG_BYTES_A_MINUTE)
      this.process.fail('Sandbox.OutputFlood', `wrote more than ${LOG_BYTES_A_MINUTE} bytes of log in a minute.`);
  }

  private rejectAll(error: SandboxError): void {
    if (this.silence) clearTimeout(this.silence);
    for (const { timer, reject } of this.pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.pending.clear();
  }
}
