import type { RegistryVersion } from '../../../contracts/artifacts/registry';
import type { RouterSettings } from '../../../contracts/config/gateway-config';
import { NONE_LABEL } from '../../../contracts/names';
import { RecentCache } from '../../../store';
import type { ReplicaSet } from '../../upstream/replica-set';
import { askBaseModel } from '../ask-base-model';
import type { Embed } from '../embed';
import type { Example } from '../read-examples';
import { menuOf, readLabels } from './logits';
import type { Router } from '../router';

/** A version's examples with their vectors. */
interface Index {
  examples: readonly Example[];
  vectors: readonly Float32Array[];
}

/** Versions whose examples are kept: active, canary, and those before. */
const KEPT_VERSIONS = 4;

/** For the vectors of all examples of a version, off the path of the requests. */
const EMBED_MS = 60_000;

/** What a shortlist router needs besides its settings. */
export interface ShortlistDeps {
  embed: Embed;
  readExamples: (version: RegistryVersion) => Promise<readonly Example[]>;
  replicas: ReplicaSet;
  baseModel: string;
}

/**
 * The paper's variant: the task is compared with successes of each adapter, and the base model chooses only among the
 * capabilities of the most similar ones. Its prompt stays short when there are many capabilities. Without examples it
 * asks about all.
 */
export function shortlistRouter(
  settings: RouterSettings,
  { embed, readExamples, replicas, baseModel }: ShortlistDeps,
): Router {
  const cache = new RecentCache<Index>(KEPT_VERSIONS);
  const ready = new Map<string, Index>();
  const keyOf = ({ version, runId }: RegistryVersion) => `${version}/${runId}`;
  const prepare = async (version: RegistryVersion): Promise<void> => {
    const key = keyOf(version);
    const index = await cache.get(key, async () => {
      const examples = await readExamples(version);
      const tasks = examples.map(({ task }) => task);
      return { examples, vectors: await embed(tasks, AbortSignal.timeout(EMBED_MS)) };
    });
    ready.set(key, index);
    for (const oldest of ready.keys()) if (ready.size > KEPT_VERSIONS) ready.delete(oldest);
  };
  return {
    prepare,
    async route(question, signal) {
      // No conversation waits for the examples of a new version: until they are read, it is asked about all
      // capabilities.
      const index = ready.get(keyOf(question.version));
      if (index === undefined) prepare(question.version).catch(() => undefined);
      const all = menuOf(question);
      const near =
        index === undefined || index.examples.length === 0
          ? null
          : nearest(index, (await embed([question.task], signal))[0]!, settings.neighbours);
      const menu = near === null ? all : all.filter(({ id }) => near.has(id));
      if (menu.length === 0)
        return { capabilityId: NONE_LABEL, reason: 'shortlist-empty', probability: null, coveredMass: null };
      return readLabels(await askBaseModel(replicas, baseModel, menu, question, signal), question, settings);
    },
  };
}

/** Capabilities of the examples most similar to a vector. */
export function nearest({ examples, vectors }: Index, vector: Float32Array, neighbours: number): Set<string> {
  const scored = vectors.map((other, i) => ({
    i,
    score: other.reduce((sum, value, d) => sum + value * (vector[d] as number), 0),
  }));
  scored.sort((a, b) => b.score - a.score);
  return new Set(scored.slice(0, neighbours).map(({ i }) => (examples[i] as Example).capabilityId));
}
