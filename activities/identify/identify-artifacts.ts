import { z } from 'zod';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { candidateSchema } from '../../contracts/artifacts/identification';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { RunContext } from '../../contracts/messages/run-context';
import type { AnalystFactory } from '../../llm';
import { getJson, LineFile, RecentCache, storedLines, type ArtifactStore } from '../../store';
import type { ClaimTiming } from '../analyst/claim';
import { OneAttempt } from '../analyst/one-attempt';
import type { SolutionPlayer } from '../target-profile/play-solutions';
import { trajectoryOutcomes } from './verdicts/task-sums';
import { labelPlanSchema, type Chunk } from './labelling/label-plan';

/** The dependencies of the identify activities. */
export interface IdentifyDeps {
  store: ArtifactStore;
  analyst: AnalystFactory;
  /** Plays the solutions of the agent's environment. */
  player: SolutionPlayer;
  /** How claims of questions are renewed. Default: CLAIM_TIMING. */
  claimTiming?: ClaimTiming;
}

/** Reads the artifacts of the identify activities. The few that hundreds of chunks share stay in memory. */
export type IdentifyArtifacts = ReturnType<typeof openIdentifyArtifacts>;

/** Opens the artifacts of a store. */
export function openIdentifyArtifacts({ store, analyst, player, claimTiming }: IdentifyDeps) {
  let priority = 0;
  const cache = new RecentCache<unknown>(12);
  const json = <T>(ref: ArtifactRef, schema: z.ZodType<T>) =>
    cache.get(ref.sha256, () => getJson(store, ref, schema)) as Promise<T>;
  const trajectories = storedLines(store, trajectorySchema);
  return {
    store,
    analyst,
    player,
    claimTiming,
    prepared: ({ spec }: RunContext) => json(spec, preparedSpecSchema),
    trajectories,
    /** Ids and outcomes of all trajectories, in their order. `look` is called with each, and its index. */
    outcomes: async (ref: ArtifactRef, look?: (trajectory: Trajectory, index: number) => void) => {
      const ids: string[] = [];
      const seen: { success: boolean; task: number }[] = [];
      for await (const trajectory of await trajectories(ref)) {
        look?.(trajectory, ids.length);
        ids.push(trajectory.id);
        seen.push({ success: trajectory.success, task: trajectory.task.seed });
      }
      return { ids, outcomes: trajectoryOutcomes(seen) };
    },
    /**
     * The trajectories of one chunk, without reading the others.
     * @throws StoreCorruptError when they are not those that were planned.
     */
    chunkTrajectories: async (ref: ArtifactRef, { bytes }: Chunk) =>
      new LineFile(await store.range(ref, bytes), trajectorySchema),
    candidates: (ref: ArtifactRef) => json(ref, z.array(candidateSchema)),
    plan: (ref: ArtifactRef) => json(ref, labelPlanSchema),
    /**
     * A number that grows with each call. Requests of the chunk that began first have the lowest, and are sent first.
     */
    nextPriority: () => ++priority,
    /** The attempts at a chunk, or at discovery, in this process. */
    attempts: new OneAttempt(),
  };
}
