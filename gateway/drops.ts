import type { Log } from './log';
import type { Metrics } from './metrics';

const LOG_EVERY_MS = 60_000;

/** What the gateway keeps for its clients and may have to drop. */
type Kept = 'decision' | 'models' | 'conversation' | 'trace';

/** Counts what was dropped for want of room. The log says so at most once a minute. */
export class Drops {
  /** By kind and client, since the last line of the log. */
  private counts: Record<string, number> = {};
  private loggedAt = -Infinity;

  constructor(
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {}

  /** Counts one thing of a client that was dropped. */
  note(what: Kept, client: string): void {
    this.metrics.dropped.inc({ what, client });
    const name = `${what} of ${client}`;
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    const now = performance.now();
    if (now - this.loggedAt < LOG_EVERY_MS) return;
    this.log.warn(
      { dropped: this.counts },
      'there was no room left: the oldest of the client that holds most is dropped',
    );
    this.counts = {};
    this.loggedAt = now;
  }
}
