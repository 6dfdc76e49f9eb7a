/**
 * Posted outcomes of the running canary, of all gateways together: each appends to its own file in the store and reads
 * the others'. What a restarted gateway had counted is in its former file.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Canary } from '../../contracts/artifacts/registry';
import { type ArtifactStore, layout, type Segment } from '../../store';
import { SequentialTest } from './sequential-test';

const lineSchema = z.strictObject({
  /** sha256 of the conversation's key, cut: enough to count it once. */
  conversation: z.string(),
  arm: z.enum(['active', 'canary']),
  reward: z.number().min(0).max(1),
});
type Line = z.infer<typeof lineSchema>;

export class CanaryOutcomes {
  readonly test: SequentialTest;
  private readonly counted = new Set<string>();
  private readonly read = new Map<string, number>();
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
   * Counts an outcome; false when this conversation was counted before. Resolves when it is with the operating system.
   */
  async add(key: string, arm: Line['arm'], reward: number): Promise<boolean> {
    const line: Line = { conversation: hash('sha256', key, 'hex').slice(0, 24), arm, reward };
    if (!this.count(line)) return false;
    await this.own.append(line);
    return true;
  }

  /** Takes in what the other gateways have counted since the last call. */
  async readOthers(): Promise<void> {
    for (const name of await this.store.list(this.directory)) {
      if (name === this.ownName || !name.endsWith('.jsonl')) continue;
      const lines = await this.store.segment(`${this.directory}/${name}`).read();
      for (const line of lines.slice(this.read.get(name) ?? 0)) this.count(lineSchema.parse(line));
      this.read.set(name, lines.length);
    }
  }

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
