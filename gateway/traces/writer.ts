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
/** Most characters that wait to be written, of all agents together. */
const LARGEST_QUEUE = 64_000_000;

/** Writes trajectories of live traffic in batches. No request waits for it. */
export class TraceWriter {
  private readonly queues = new Map<string, Trajectory[]>();
  private queued = 0;
  private readonly timer: NodeJS.Timeout;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: ArtifactStore,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {
    this.timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.timer.unref();
  }

  /** Queues a trajectory. Drops and counts it when the queue is full. */
  add(agent: string, trajectory: Trajectory): void {
    const queue = this.queues.get(agent) ?? [];
    this.queues.set(agent, queue);
    const size = sizeOf(trajectory);
    if (queue.length >= LONGEST_QUEUE || this.queued + size > LARGEST_QUEUE)
      return this.metrics.traces.inc({ agent, result: 'queue-full' });
    this.queued += size;
    queue.push(trajectory);
    if (queue.length === FLUSH_LINES) void this.flush();
  }

  /**
   * Writes the waiting trajectories. Resolves when they are in the store. A batch that cannot be written is dropped and
   * counted.
   */
  flush(): Promise<void> {
    this.writing = this.writing.then(async () => {
      for (const [agent, queue] of this.queues) {
        const lines = queue.splice(0);
        for (const line of lines) this.queued -= sizeOf(line);
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

  /** Stops the timer and writes the waiting trajectories. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }
}

/** Characters of a trajectory's messages, which is roughly its size. */
const sizeOf = ({ messages }: Trajectory): number =>
  messages.reduce((sum, { content, tool_calls: calls }) => {
    const asked = (calls ?? []).reduce((own, { function: call }) => own + call.name.length + call.arguments.length, 0);
    return sum + 200 + (content?.length ?? 0) + asked;
  }, 1_000);
