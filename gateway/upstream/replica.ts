import { type Dispatcher, Pool } from 'undici';
import type { GatewayConfig } from '../../contracts/config/gateway-config';
import { startOf } from '../../contracts/clean-text';
import { GrowingBuffer } from './growing-buffer';

/** Largest number of bytes in an answer to one of the gateway's own questions. */
const MOST_ANSWER_BYTES = 4_000_000;

/**
 * Thrown into a request that the gateway itself aborted. A connection that breaks because of this does not make a
 * server unready.
 */
export class ClientGone extends Error {
  constructor() {
    super('The client went away.');
    this.name = 'ClientGone';
  }
}

/**
 * Codes of errors that end a connection when its server has died. A timeout of an idle connection is not one of them,
 * nor is a request that the gateway aborted.
 */
const BROKEN = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** One model server: its connections, its model and adapters, and its requests in flight. */
export class Replica {
  readonly pool: Pool;
  /** Connections for loading and unloading adapters; equal to `pool` if the server has no separate port for that. */
  readonly adminPool: Pool;
  /** Headers that carry the API key. */
  readonly authorization: Readonly<Record<string, string>>;
  /** Path before `/chat/completions`, usually `/v1`. */
  readonly basePath: string;
  /** Whether it answers and serves the base model. Only a check by the reconciler sets it to true. */
  ready = false;
  /** Adapters that have been loaded and probed since the server was last marked unready. */
  readonly routable = new Set<string>();
  /** Requests in flight. */
  inFlight = 0;
  /** Requests in flight by model name. */
  readonly inFlightByModel = new Map<string, number>();
  /** Incremented whenever the server is marked unready, so that an earlier check cannot make it ready. */
  epoch = 0;

  constructor(
    readonly url: string,
    readonly apiKey: string | null,
    timeouts: GatewayConfig['timeouts'],
    adminPort: number | undefined,
    private readonly onUnready: (replica: Replica) => void,
    private readonly verify: () => Promise<void>,
  ) {
    const { origin, pathname } = new URL(url);
    this.authorization = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
    this.basePath = pathname.replace(/\/$/, '');
    this.pool = new Pool(origin, {
      connect: { timeout: timeouts.connectMs },
      headersTimeout: timeouts.firstByteMs,
      bodyTimeout: timeouts.idleMs,
      keepAliveTimeout: 4_000,
      // Each connection handles one request at a time, so that a long answer does not delay a short one.
      pipelining: 1,
    });
    const admin = new URL(origin);
    admin.port = String(adminPort);
    this.adminPool = adminPort === undefined ? this.pool : new Pool(admin.origin, { connections: 1 });
    this.pool.on('disconnect', (_origin, _targets, error: Error & { code?: string }) => {
      if (!(error instanceof ClientGone) && BROKEN.has(error.code ?? '')) void this.doubt();
    });
  }

  /**
   * Asks the server one of the gateway's own questions; null as `body` means a GET. Resolves with the text of an answer
   * with status 200. Rejects for any other status, for an answer of more than 4 MB, and when the signal fires.
   */
  async ask(path: string, body: unknown, signal: AbortSignal): Promise<string> {
    const pool = path.endsWith('_lora_adapter') ? this.adminPool : this.pool;
    const answer = await pool.request({
      method: body === null ? 'GET' : 'POST',
      path: this.basePath + path,
      headers: { 'content-type': 'application/json', ...this.authorization },
      body: body === null ? null : JSON.stringify(body),
      signal,
    });
    const text = await readText(answer.body);
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${startOf(text, 300)}`);
    return text;
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await Promise.all([this.pool.destroy(), ...(this.adminPool === this.pool ? [] : [this.adminPool.destroy()])]);
  }

  /**
   * Call this after a broken connection or an unknown model, because the server may have been restarted. It asks the
   * server, and marks it unready only if it has lost something. Traffic continues meanwhile, because one unusual
   * request must not remove a server for all others. Never rejects.
   */
  doubt(): Promise<void> {
    if (this.ready) return this.verify();
    this.markUnready();
    return Promise.resolve();
  }

  /** Stops all traffic until the server has been checked: it may have been restarted and lost its adapters. */
  markUnready(): void {
    this.epoch += 1;
    this.ready = false;
    this.routable.clear();
    this.onUnready(this);
  }

  /** Counts a request to a model. */
  begin(model: string): void {
    this.inFlight += 1;
    this.inFlightByModel.set(model, (this.inFlightByModel.get(model) ?? 0) + 1);
  }

  /** Ends the count of a request. Call it once for each `begin`. */
  end(model: string): void {
    this.inFlight -= 1;
    const left = (this.inFlightByModel.get(model) ?? 1) - 1;
    if (left > 0) this.inFlightByModel.set(model, left);
    else this.inFlightByModel.delete(model);
  }
}

/**
 * The text of an answer to one of the gateway's own questions. If it is larger than `most` bytes, it rejects and closes
 * the connection: a model server must not fill the gateway's memory, not even with many small chunks.
 */
export async function readText(body: Dispatcher.ResponseData['body'], most = MOST_ANSWER_BYTES): Promise<string> {
  const answer = new GrowingBuffer();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (answer.length + chunk.length > most) throw new Error(`A model server answered with more than ${most} bytes.`);
    answer.append(chunk);
  }
  return answer.take().toString('utf8');
}
