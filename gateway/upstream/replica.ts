import { Pool } from 'undici';
import type { GatewayConfig } from '../../contracts/config/gateway-config';

/** Why the gateway gave a request up itself: its connection breaking says nothing about the model server. */
export class ClientGone extends Error {
  constructor() {
    super('The client went away.');
    this.name = 'ClientGone';
  }
}

/**
 * Ways a connection ends that the server is to blame for. Idle time and requests that we gave up ourselves are not
 * among them.
 */
const BROKEN = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** One model server: its connections, what it serves, and how much is under way there. */
export class Replica {
  readonly pool: Pool;
  /** Path before `/chat/completions`: `/v1`. */
  readonly basePath: string;
  /** Answers and serves the base model. Only a check by the reconciler makes it true. */
  ready = false;
  /** Adapters that were loaded and probed since it was last found ready. */
  readonly routable = new Set<string>();
  inFlight = 0;
  /** Requests under way by model name. */
  readonly inFlightByModel = new Map<string, number>();
  /** Raised with every loss of trust, so that a check which began before cannot restore it. */
  epoch = 0;

  constructor(
    readonly url: string,
    readonly apiKey: string | null,
    timeouts: GatewayConfig['timeouts'],
    private readonly onUnready: (replica: Replica) => void,
  ) {
    const { origin, pathname } = new URL(url);
    this.basePath = pathname.replace(/\/$/, '');
    this.pool = new Pool(origin, {
      connect: { timeout: timeouts.connectMs },
      headersTimeout: timeouts.firstByteMs,
      bodyTimeout: timeouts.idleMs,
      keepAliveTimeout: 4_000,
      // Each request has a connection of its own while it runs: a long answer must not hold up a short one.
      pipelining: 1,
    });
    this.pool.on('disconnect', (_origin, _targets, error: Error & { code?: string }) => {
      if (!(error instanceof ClientGone) && BROKEN.has(error.code ?? '')) this.markUnready();
    });
  }

  /**
   * A connection broke: it may have been restarted and have lost its adapters. It gets no traffic until it was checked.
   */
  markUnready(): void {
    this.epoch += 1;
    this.ready = false;
    this.routable.clear();
    this.onUnready(this);
  }

  begin(model: string): void {
    this.inFlight += 1;
    this.inFlightByModel.set(model, (this.inFlightByModel.get(model) ?? 0) + 1);
  }

  end(model: string): void {
    this.inFlight -= 1;
    const left = (this.inFlightByModel.get(model) ?? 1) - 1;
    if (left > 0) this.inFlightByModel.set(model, left);
    else this.inFlightByModel.delete(model);
  }
}
