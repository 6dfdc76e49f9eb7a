import type { z } from 'zod';
import {
  environmentBatchSchema,
  type EnvironmentCall,
  type EnvironmentMethod,
  type EnvironmentMove,
  type EnvironmentOutcome,
  type EnvironmentParams,
  environmentResponseSchema,
  type EnvironmentResult,
  environmentResultSchemas,
} from '../contracts/messages/environment-protocol';
import { startOf } from '../contracts/clean-text';
import { SandboxError } from './errors';
import type { LaunchedRuntime } from './launch';
import { parseLine } from './line-channel';
import { LineProcess } from './line-process';
import type { JailProfile } from './profile';
import { requestError } from './request-error';

/**
 * The place of an environment. `jail`; `owner-jail`: the environment is the agent owner's own; `process`: a plain
 * process, because an operator allows that for this owner's environment; `unsafe`: no jail, because
 * WHET_SANDBOX=unsafe.
 */
export type EnvironmentIsolation = 'jail' | 'owner-jail' | 'process' | 'unsafe';

interface Pending {
  method: EnvironmentMethod;
  /** `{"method":...,"params":...}` */
  json: string;
  resolve: (result: never) => void;
  reject: (error: SandboxError) => void;
}

interface InFlight {
  id: number;
  items: Pending[];
  isBatch: boolean;
  timer: NodeJS.Timeout;
}

/** Bytes of a request line that are reserved for the text around the requests. */
const ENVELOPE_BYTES = 256;
/**
 * One environment in one process, with many episodes. Requests that arrive while a line is in flight are sent together
 * as one `batch` line. So concurrent episodes share a round trip, and a single episode never waits for others.
 *
 * A failure of the process rejects all waiting requests with a typed error and kills the process. After that this
 * object is unusable; open another one.
 */
export class EnvironmentProcess {
  private readonly queue: Pending[] = [];
  private inFlight: InFlight | null = null;
  private flushScheduled = false;
  private lastId = 0;
  private readonly process: LineProcess;
  private described: Promise<EnvironmentResult<'describe'>> | null = null;
  /** sha256 of the source according to the runtime; empty until `start` is done. */
  sha256 = '';

  /** Do not call it directly: use `openEnvironment`. */
  constructor(
    /** Only used in messages. */
    readonly name: string,
    readonly isolation: EnvironmentIsolation,
    launched: LaunchedRuntime,
    private readonly profile: JailProfile,
  ) {
    this.process = new LineProcess(name, launched, profile, {
      onLine: (line) => this.receive(line),
      onEnd: (failure) => this.rejectAll(failure),
      logBytes: profile.caps.logBytes,
    });
  }

  /** Whether requests can still be made. */
  get alive(): boolean {
    return this.process.failure === null;
  }

  /**
   * Loads the source. Called once, by `openEnvironment`.
   * @throws SandboxError EnvironmentRaised or BadReturn for the source's own faults, StartFailed when the runtime did
   *   not come up.
   */
  async start(source: string, laterBySeconds = 0): Promise<this> {
    try {
      this.requireFits(source);
      const later = laterBySeconds === 0 ? {} : { later: laterBySeconds };
      this.sha256 = (await this.request('load', { source, ...later })).sha256;
      return this;
    } catch (error) {
      await this.close();
      if (error instanceof SandboxError && error.type === 'Sandbox.EnvironmentDied')
        throw new SandboxError('Sandbox.StartFailed', `${error.message} before it was loaded.`, { cause: error });
      throw error;
    }
  }

  /** The environment's tools and its optional parts. Asked once. */
  describe(): Promise<EnvironmentResult<'describe'>> {
    this.described ??= this.request('describe', {});
    return this.described;
  }

  /** Starts an episode under an unused name. Returns its opening messages and the task's ground-truth tags. */
  reset(episode: string, seed: number): Promise<EnvironmentResult<'reset'>> {
    return this.request('reset', { episode, seed });
  }

  /** Makes the tool calls of one assistant turn, in order. Observations stop at the call that ends the episode. */
  step(episode: string, calls: EnvironmentCall[]): Promise<EnvironmentResult<'step'>> {
    return this.request('step', { episode, calls });
  }

  /** Assistant text without a tool call; it ends the episode if the environment has no `say`. */
  say(episode: string, text: string): Promise<EnvironmentResult<'step'>> {
    return this.request('step', { episode, text });
  }

  /** Ends the episode and returns its reward in [0, 1]. */
  evaluate(episode: string): Promise<EnvironmentResult<'evaluate'>> {
    return this.request('evaluate', { episode });
  }

  /** Drops an episode, running or not. */
  async drop(episode: string): Promise<null> {
    await this.request('drop', { episode });
    return null;
  }

  /** The hidden task of a seed. */
  async task(seed: number): Promise<Record<string, unknown>> {
    return (await this.request('task', { seed })).task;
  }

  /** Calls and text turns that earn reward 1 according to the environment. */
  async reference(seed: number): Promise<EnvironmentMove[]> {
    return (await this.request('reference', { seed })).calls;
  }

  /**
   * Calls any method of the protocol. Rejects with a SandboxError. `EnvironmentRaised`, `BadReturn`, `BadRequest` and
   * `NoSuchEpisode` concern this request only. `EnvironmentHung`, `EnvironmentDied`, `EnvironmentKilled`, `BadOutput`,
   * `OutputFlood` and `EnvironmentClosed` concern the process.
   */
  request<M extends EnvironmentMethod>(method: M, params: EnvironmentParams[M]): Promise<EnvironmentResult<M>> {
    const { failure } = this.process;
    if (failure) return Promise.reject(failure);
    const json = JSON.stringify({ method, params });
    const { lineBytes } = this.profile.caps;
    if (Buffer.byteLength(json) + ENVELOPE_BYTES > lineBytes) {
      const message = `The ${method} request is over the protocol's ${lineBytes} bytes a line.`;
      return Promise.reject(new SandboxError('Sandbox.BadRequest', message));
    }
    return new Promise((resolve, reject) => {
      this.queue.push({ method, json, resolve, reject });
      this.scheduleFlush();
    });
  }

  /**
   * Ends the process: closes its request pipe, then kills it. Rejects waiting requests with `EnvironmentClosed`.
   * Idempotent.
   */
  close(): Promise<void> {
    return this.process.close();
  }

  /** The end of the process's stdout and stderr, for messages. */
  lastLogLines(): { stdout: string; stderr: string } {
    return this.process.lastLogLines();
  }

  private requireFits(source: string): void {
    const bytes = Buffer.byteLength(JSON.stringify(source));
    const most = this.profile.caps.lineBytes - 2 * ENVELOPE_BYTES;
    if (bytes <= most) return;
    const isOwners = this.isolation === 'owner-jail' || this.isolation === 'process';
    throw new SandboxError(
      'Sandbox.SourceTooLarge',
      `Environment ${this.name} has ${Buffer.byteLength(source)} bytes, which are ${bytes} as JSON; at most ${most} ` +
        'can be sent to its process. ' +
        (isOwners ? 'Put data into files beside it, which it opens by their names.' : 'Make it shorter.'),
    );
  }

  private scheduleFlush(): void {
    if (this.flushScheduled || this.inFlight) return;
    this.flushScheduled = true;
    // setImmediate rather than a microtask: answers of many model calls arrive in one turn of the event loop, and their
    // requests should share a line.
    setImmediate(() => {
      this.flushScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    if (this.inFlight || !this.alive || this.queue.length === 0) return;
    const { caps, wallMs } = this.profile;
    let bytes = ENVELOPE_BYTES;
    let taken = 0;
    for (const item of this.queue) {
      bytes += item.json.length === 0 ? 0 : Buffer.byteLength(item.json) + 1;
      const joins = taken === 0 || (item.method !== 'load' && bytes <= caps.lineBytes && taken < caps.batchRequests);
      if (!joins) break;
      taken++;
      if (item.method === 'load') break;
    }
    const items = this.queue.splice(0, taken);
    const id = ++this.lastId;
    const isBatch = items.length > 1;
    const body = isBatch
      ? `"method":"batch","params":{"requests":[${items.map((item) => item.json).join(',')}]}`
      : items[0]!.json.slice(1, -1);
    const waitMs = items[0]!.method === 'load' ? wallMs.start : wallMs.request;
    const timer = setTimeout(() => {
      const methods = [...new Set(items.map((item) => item.method))].join(', ');
      this.process.fail(
        'Sandbox.EnvironmentHung',
        `did not answer ${methods} within ${waitMs} ms; its process was killed.`,
      );
    }, waitMs);
    this.inFlight = { id, items, isBatch, timer };
    this.process.write(`{"id":${id},${body}}`);
  }

  private receive(line: string): void {
    if (!this.alive) return;
    const inFlight = this.inFlight;
    const outcomes = inFlight && this.parse(line, inFlight);
    if (!outcomes) {
      const what = JSON.stringify(startOf(line, 200));
      return this.process.fail('Sandbox.BadOutput', `answered with something the protocol does not allow: ${what}`);
    }
    clearTimeout(inFlight.timer);
    this.inFlight = null;
    const again: Pending[] = [];
    inFlight.items.forEach((item, index) => {
      const outcome = outcomes[index]!;
      if ('result' in outcome) item.resolve(outcome.result as never);
      else if (outcome.error.type === 'NotRun') again.push(item);
      else item.reject(requestError(this, outcome.error));
    });
    this.queue.unshift(...again);
    this.flush();
  }

  /** Outcomes in the order of the line's requests, or null if the line is not a valid answer. */
  private parse(line: string, inFlight: InFlight): EnvironmentOutcome[] | null {
    const response = environmentResponseSchema.safeParse(parseLine(line, this.profile.caps.depth + 8));
    if (!response.success || response.data.id !== inFlight.id) return null;
    if ('error' in response.data) {
      const { error } = response.data;
      // Only single requests of a batch may be answered NotRun. Repeating a whole line might never end.
      if (error.type === 'NotRun') return null;
      return inFlight.items.map(() => ({ error }));
    }
    const outcomes = inFlight.isBatch
      ? environmentBatchSchema.safeParse(response.data.result).data?.results
      : [{ result: response.data.result }];
    if (outcomes?.length !== inFlight.items.length) return null;
    // The first request of a batch always runs, so that repeating the others ends at some point.
    if ('error' in outcomes[0]! && outcomes[0].error.type === 'NotRun') return null;
    const valid = outcomes.every((outcome, index) => {
      if ('error' in outcome) return true;
      const schema: z.ZodType = environmentResultSchemas[inFlight.items[index]!.method];
      return schema.safeParse(outcome.result).success;
    });
    return valid ? outcomes : null;
  }

  private rejectAll(error: SandboxError): void {
    const waiting = [...(this.inFlight?.items ?? []), ...this.queue.splice(0)];
    if (this.inFlight) clearTimeout(this.inFlight.timer);
    this.inFlight = null;
    for (const item of waiting) item.reject(error);
  }
}
