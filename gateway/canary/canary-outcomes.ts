import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Canary } from '../../contracts/artifacts/registry';
import { type ArtifactStore, layout, type Segment } from '../../store';
import { SequentialTest } from './sequential-test';

const lineSchema = z.strictObject({
  /** First 24 hex digits of the sha256 of the conversation's key, which is enough to count it only once. */
  conversation: z.string(),
  arm: z.enum(['active', 'canary']),
  reward: z.number().min(0).max(1),
});
type Line = z.infer<typeof lineSchema>;

/**
 * The outcomes posted while a canary runs, from all gateways. Each gateway appends to its own file in the store and
 * reads the other gateways' files. A restarted gateway begins a new file and reads its old one.
 */
export class CanaryOutcomes {
  readonly test: SequentialTest;
  private readonly counted = new Set<string>();
  /** For each file of another gateway: the offset after the last line that was read. */
  private readonly readUpTo = new Map<string, number>();
  private readonly own: Segment;
  private readonly directory: string;
  private readonly ownName: string;

  constructor(
    private readonly store: ArtifactStore,
    agent: string,
    readonly canary: Canary,
    instance: string,
  ) {
    this.test = new SequentialTest(canary.share, canary.falseRollback);
    this.directory = layout.canary(agent, canary.id);
    this.ownName = `${instance}.jsonl`;
    this.own = store.segment(`${this.directory}/${this.ownName}`);
  }

  /**
   * Counts an outcome. Resolves with true once the operating system has it, and with false if the conversation was
   * counted before. `reward` is in [0, 1]. Rejects if the file cannot be written.
   */
  async add(key: string, arm: Line['arm'], reward: number): Promise<boolean> {
    const line: Line = { conversation: hash('sha256', key, 'hex').slice(0, 24), arm, reward };
    if (!this.count(line)) return false;
    await this.own.append(line);
    return true;
  }

  /**
   * Adds the outcomes that the other gateways have counted since the last call. Rejects if a file cannot be read.
   * @returns a sentence for each file with omitted lines.
   */
  async readOthers(): Promise<string[]> {
    const leftOut: string[] = [];
    for (const name of await this.store.list(this.directory)) {
      if (name === this.ownName || !name.endsWith('.jsonl')) continue;
      const reading = this.store.segment(`${this.directory}/${name}`).read(lineSchema, this.readUpTo.get(name));
      for await (const { value } of reading) this.count(value);
      this.readUpTo.set(name, reading.end);
      if (reading.damaged.count > 0) leftOut.push(reading.damaged.describe());
    }
    return leftOut;
  }

  /** Closes the file of this gateway. */
  close(): Promise<void> {
    return this.own.close();
  }

  private count({ conversation, arm, reward }: Line): boolean {
    if (this.counted.has(conversation)) return false;
    this.counted.add(conversation);
    this.test.add(arm, reward);
    return true;
  }
}
