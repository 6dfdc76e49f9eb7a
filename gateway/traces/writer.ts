import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, layout, putLines } from '../../store';
import type { Log } from '../log';
import type { Metrics } from '../metrics';

const FLUSH_MS = 5_000;
const FLUSH_LINES = 200;
/**
 * Most trajectories of an agent that wait to be written. When the store does not keep up, further ones are dropped and
 * counted, because requests must not wait for it.
 */
const LONGEST_QUEUE = 5_000;

/** Writes trajectories of live traffic in batches. No request waits for it. */
export class TraceWriter {
  private readonly queues = new Map<string, Trajectory[]>();
  private readonly timer: NodeJS.Timeout;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: ArtifactStore,
    private readonly metrics: Metrics,
    private readonly log: Log,
    flushMs: number = FLUSH_MS,
  ) {
    this.timer = setInterval(() => void this.flush(), flushMs);
    this.timer.unref();
  }

  /** Queues a trajectory. Drops and counts it when the queue is full. */
  add(agent: string, trajectory: Trajectory): void {
    const queue = this.queues.get(agent) ?? [];
    this.queues.set(agent, queue);
    if (queue.length >= LONGEST_QUEUE) return this.metrics.traces.inc({ agent, result: 'queue-full' });
    queue.push(trajectory);
    if (queue.length === FLUSH_LINES) void this.flush();
  }

  /**
   * Writes what is waiting, and resolves when it is in the store. A batch that cannot be written is dropped and
   * counted.
   */
  flush(): Promise<void> {
    this.writing = this.writing.then(async () => {
      for (const [agent, queue] of this.queues) {
        const lines = queue.splice(0);
        if (lines.length === 0) continue;
        try {
          await putLines(this.store, layout.traces(agent, new Date().toISOString().slice(0, 10)), 'live.jsonl', lines);
          this.metrics.traces.inc({ agent, result: 'written' }, lines.length);
        } catch (error) {
          this.metrics.traces.inc({ agent, result: 'failed' }, lines.length);
          this.log.error(
            { agent, lines: lines.length, error: (error as Error).message },
            'traces could not be written',
          );
        }
      }
    });
    return this.writing;
  }

  /** Stops the timer and writes what is waiting. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }
}
