import { setTimeout as sleep } from 'node:timers/promises';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, layout, putLines } from '../../store';
import { type TimeOver, withinTime } from '../agents/within-time';
import { ClientShares } from '../client-shares';
import { cacheKey } from '../conversations';
import type { Drops } from '../drops';
import type { Log } from '../log';
import type { Metrics } from '../metrics';

/** How long outcomes are gathered, so that many of them make one file. */
const GATHER_MS = 100;
/** After a failure. */
const RETRY_MS = 5_000;
/** How long a write is waited for. A store on a network mount may hang without an error. */
const PATIENCE_MS = 5_000;
/** Most characters that wait, of all clients together. What is being written comes on top until that fails. */
const LARGEST_QUEUE = 64_000_000;

interface Added {
  client: string;
  trajectory: Trajectory;
  agent: string;
}

interface Waiting extends Added {
  /** The oldest has the least. */
  number: number;
}

/** Writes trajectories of live traffic in batches. No inference request waits for it. */
export class TraceWriter {
  private readonly queue: ClientShares<Waiting>;
  private added = 0;
  private readonly timer: NodeJS.Timeout;
  private writing: Promise<void> = Promise.resolve();
  private next: Promise<void> | null = null;
  /** What the write under way has not written yet. */
  private underWay: readonly Waiting[] = [];
  private isFailing = false;

  constructor(
    private readonly store: ArtifactStore,
    private readonly metrics: Metrics,
    drops: Drops,
    private readonly log: Log,
    private readonly patienceMs = PATIENCE_MS,
  ) {
    this.queue = new ClientShares(LARGEST_QUEUE, (client, { agent }) => {
      drops.note('trace', client);
      metrics.traces.inc({ agent, result: 'queue-full' });
    });
    this.timer = setInterval(() => {
      // A write that hangs is waited for: a further one would hang too.
      if (this.queue.count > 0 && this.underWay.length === 0) void this.flush();
    }, RETRY_MS);
    this.timer.unref();
  }

  /**
   * Resolves when a trajectory is in the store. While the store cannot be written, it waits in memory and this resolves
   * at once; while the store hangs, after some seconds. Never rejects.
   */
  async add(added: Added): Promise<void> {
    this.enqueue({ ...added, number: this.added++ });
    if (this.isFailing) return;
    this.next ??= this.patiently(sleep(GATHER_MS).then(() => this.flush()));
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
    await this.patiently(this.flush());
    for (const { agent } of [...this.underWay, ...this.queue.takeAll()])
      this.metrics.traces.inc({ agent, result: 'failed' });
  }

  /** Waits for a write, and when it takes too long goes on as if it had failed. */
  private patiently(writing: Promise<void>): Promise<void> {
    return withinTime(GATHER_MS + this.patienceMs, () => writing).catch(({ message }: TimeOver) => this.fails(message));
  }

  private fails(error: string): void {
    if (!this.isFailing) this.log.error({ error }, 'traces cannot be written; they wait in memory');
    this.isFailing = true;
  }

  private enqueue(waiting: Waiting): void {
    const { client, agent, number, trajectory } = waiting;
    this.queue.set(cacheKey(client, agent, String(number)), waiting, sizeOf(trajectory));
  }

  private async write(): Promise<void> {
    this.underWay = this.queue.takeAll();
    let error: unknown = null;
    for (const [agent, batch] of Map.groupBy(this.underWay, (one) => one.agent)) {
      try {
        const lines = batch.map(({ trajectory }) => trajectory);
        await putLines(this.store, layout.traces(agent, new Date().toISOString().slice(0, 10)), 'live.jsonl', lines);
        for (const { leftOut } of lines)
          this.metrics.traces.inc({ agent, result: leftOut === undefined ? 'written' : 'incomplete' });
        this.underWay = this.underWay.filter((one) => one.agent !== agent);
      } catch (thrown) {
        error = thrown;
      }
    }
    const failed = this.underWay;
    this.underWay = [];
    this.isFailing &&= error !== null;
    if (error === null) return;
    this.fails((error as Error).message);
    // The oldest goes first when there is no more room, though younger ones came while this was being written.
    const all = [...failed, ...this.queue.takeAll()].sort((a, b) => a.number - b.number);
    all.forEach((one) => this.enqueue(one));
  }
}

/** Characters of a trajectory's messages, which is roughly its size. */
const sizeOf = ({ messages }: Trajectory): number =>
  messages.reduce((sum, { content, reasoning_content: reasoning, tool_calls: calls }) => {
    const asked = (calls ?? []).reduce((own, { function: call }) => own + call.name.length + call.arguments.length, 0);
    return sum + 200 + (content?.length ?? 0) + (reasoning?.length ?? 0) + asked;
  }, 1_000);
