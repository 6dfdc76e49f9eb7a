import { setTimeout as sleep } from 'node:timers/promises';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, layout, putLines } from '../../store';
import { ClientShares } from '../client-shares';
import { cacheKey } from '../conversations';
import type { Drops } from '../drops';
import type { Log } from '../log';
import type { Metrics } from '../metrics';

/** How long outcomes are gathered, so that many of them make one file. */
const GATHER_MS = 100;
/** After a failure. */
const RETRY_MS = 5_000;
/** Most characters that wait to be written, of all clients together. */
const LARGEST_QUEUE = 64_000_000;

interface Waiting {
  client: string;
  trajectory: Trajectory;
  agent: string;
}

/** Writes trajectories of live traffic in batches. No inference request waits for it. */
export class TraceWriter {
  private readonly queue: ClientShares<Waiting>;
  private added = 0;
  private readonly timer: NodeJS.Timeout;
  private writing: Promise<void> = Promise.resolve();
  private next: Promise<void> | null = null;
  private isFailing = false;

  constructor(
    private readonly store: ArtifactStore,
    private readonly metrics: Metrics,
    drops: Drops,
    private readonly log: Log,
  ) {
    this.queue = new ClientShares(LARGEST_QUEUE, (client, { agent }) => {
      drops.note('trace', client);
      metrics.traces.inc({ agent, result: 'queue-full' });
    });
    this.timer = setInterval(() => {
      if (this.isFailing) void this.flush();
    }, RETRY_MS);
    this.timer.unref();
  }

  /**
   * Resolves when a trajectory is in the store. While the store cannot be written, it waits in memory and this resolves
   * at once. Never rejects.
   */
  async add(waiting: Waiting): Promise<void> {
    this.enqueue(waiting);
    if (this.isFailing) return;
    this.next ??= sleep(GATHER_MS).then(() => this.flush());
    await this.next;
  }

  /** Writes what waits now. A batch that cannot be written waits further. */
  flush(): Promise<void> {
    this.writing = this.writing.then(() => {
      this.next = null;
      return this.write();
    });
    return this.writing;
  }

  /** Stops the timer and writes what waits. What cannot be written now is lost, and counted. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
    for (const { agent } of this.queue.takeAll()) this.metrics.traces.inc({ agent, result: 'failed' });
  }

  private enqueue(waiting: Waiting): void {
    this.queue.set(cacheKey(waiting.client, waiting.agent, String(this.added++)), waiting, sizeOf(waiting.trajectory));
  }

  private async write(): Promise<void> {
    const waiting = this.queue.takeAll();
    let error: unknown = null;
    for (const agent of new Set(waiting.map((one) => one.agent))) {
      const batch = waiting.filter((one) => one.agent === agent);
      try {
        const lines = batch.map(({ trajectory }) => trajectory);
        await putLines(this.store, layout.traces(agent, new Date().toISOString().slice(0, 10)), 'live.jsonl', lines);
        for (const { leftOut } of lines)
          this.metrics.traces.inc({ agent, result: leftOut === undefined ? 'written' : 'incomplete' });
      } catch (thrown) {
        error = thrown;
        batch.forEach((one) => this.enqueue(one));
      }
    }
    if (error !== null && !this.isFailing)
      this.log.error({ error: (error as Error).message }, 'traces cannot be written; they wait in memory');
    this.isFailing = error !== null;
  }
}

/** Characters of a trajectory's messages, which is roughly its size. */
const sizeOf = ({ messages }: Trajectory): number =>
  messages.reduce((sum, { content, reasoning_content: reasoning, tool_calls: calls }) => {
    const asked = (calls ?? []).reduce((own, { function: call }) => own + call.name.length + call.arguments.length, 0);
    return sum + 200 + (content?.length ?? 0) + (reasoning?.length ?? 0) + asked;
  }, 1_000);
