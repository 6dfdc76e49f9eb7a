import type { RegistryVersion } from '../../contracts/artifacts/registry';
import { RecentCache } from '../../store';
import type { Embed } from './embed';
import type { Example } from './read-examples';

/** Versions whose examples are kept: the active one, the canary, and those before. */
const KEPT_VERSIONS = 4;

/** Time limit for embedding all examples of a version. No request waits for it. */
const EMBED_MS = 60_000;

interface EmbeddedExamples {
  examples: readonly Example[];
  /** Of length 1, one for each example. */
  vectors: readonly Float32Array[];
}

/** Finds the examples of a version that are most similar to a task. */
export class ExampleIndex {
  private readonly loading = new RecentCache<EmbeddedExamples>(KEPT_VERSIONS);
  private readonly loaded = new Map<string, EmbeddedExamples>();

  constructor(
    private readonly readExamples: (version: RegistryVersion) => Promise<readonly Example[]>,
    private readonly embed: Embed,
  ) {}

  /** Reads and embeds a version's examples, once. Rejects when they cannot be read or embedded. */
  async prepare(version: RegistryVersion): Promise<void> {
    const key = keyOf(version);
    const embedded = await this.loading.get(key, async () => {
      const examples = await this.readExamples(version);
      const tasks = examples.map(({ task }) => task);
      return { examples, vectors: await this.embed(tasks, AbortSignal.timeout(EMBED_MS)) };
    });
    this.loaded.set(key, embedded);
    for (const oldest of this.loaded.keys()) if (this.loaded.size > KEPT_VERSIONS) this.loaded.delete(oldest);
  }

  /**
   * The `count` examples that are most similar to a task, the most similar first. Empty when the version has none, and
   * while they are not prepared: then it starts to prepare them and does not wait. Rejects when the task cannot be
   * embedded.
   */
  async nearest(version: RegistryVersion, task: string, count: number, signal: AbortSignal): Promise<Example[]> {
    const embedded = this.loaded.get(keyOf(version));
    if (embedded === undefined) {
      this.prepare(version).catch(() => undefined);
      return [];
    }
    const { examples, vectors } = embedded;
    if (examples.length === 0) return [];
    const [vector] = await this.embed([task], signal);
    const scored = vectors.map((other, i) => ({ i, score: innerProduct(other, vector!) }));
    scored.sort((a, b) => b.score - a.score);
    return scored.slice(0, count).map(({ i }) => examples[i]!);
  }
}

const keyOf = ({ version, runId }: RegistryVersion): string => `${version}/${runId}`;

const innerProduct = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, d) => sum + value * (b[d] as number), 0);
