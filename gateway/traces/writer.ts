import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, layout, putLines } from '../../store';
import type { Log } from '../log';
import type { Metrics } from '../metrics';

const FLUSH_MS = 5_000;
const FLUSH_LINES = 200;
/**
 * More than this waiting means that the store does not keep up: requests must not wait for it, so conversations are
 * dropped and counted.
 */
const LONGEST_QUEUE = 5_000;

/** Writes trajectories of live traffic in batches, off the path of the requests. */
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

  add(agent: string, trajectory: Trajectory): void {
    const queue = this.queues.get(agent) ?? [];
    this.queues.set(agent, queue);
    if (queue.length >= LONGEST_QUEUE) return this.metrics.traces.inc({ agent, result: 'queue-full' });
    queue.push(trajectory);
    if (queue.length === FLUSH_LINES) void this.flush();
  }

  /**
   * Writes what is waiting; resolves when it is in the store. A batch that cannot be written is counted and given up.
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

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }
}
