import { z } from 'zod';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type Candidate, candidateSchema } from '../../contracts/artifacts/identification';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { RunContext } from '../../contracts/messages/run-context';
import type { AnalystFactory } from '../../llm';
import { getJson, LineFile, RecentCache, storedLines, type ArtifactStore, type StoredLines } from '../../store';
import type { ClaimTiming } from '../analyst/claim';
import { OneAttempt } from '../analyst/one-attempt';
import { trajectoryOutcomes, type TrajectoryOutcomes } from './verdicts/task-sums';
import { labelPlanSchema, type Chunk, type LabelPlanDocument } from './labelling/label-plan';

/** The dependencies of the identify activities. */
export interface IdentifyDeps {
  store: ArtifactStore;
  analyst: AnalystFactory;
  /** How claims of questions are renewed. Default: CLAIM_TIMING. */
  claimTiming?: ClaimTiming;
}

/** Reads the artifacts of the identify activities. The few that hundreds of chunks share stay in memory. */
export interface IdentifyArtifacts {
  store: ArtifactStore;
  claimTiming: ClaimTiming | undefined;
  prepared(context: RunContext): Promise<PreparedSpec>;
  analyst: AnalystFactory;
  trajectories(ref: ArtifactRef): Promise<StoredLines<Trajectory>>;
  /** Ids and outcomes of all trajectories, in their order. `look` is called with each, and its index. */
  outcomes(
    ref: ArtifactRef,
    look?: (trajectory: Trajectory, index: number) => void,
  ): Promise<{ ids: string[]; outcomes: TrajectoryOutcomes }>;
  /**
   * The trajectories of one chunk, without reading the others.
   * @throws StoreCorruptError when they are not those that were planned.
   */
  chunkTrajectories(ref: ArtifactRef, chunk: Chunk): Promise<LineFile<Trajectory>>;
  candidates(ref: ArtifactRef): Promise<Candidate[]>;
  plan(ref: ArtifactRef): Promise<LabelPlanDocument>;
  /** A number that grows with each call. Requests of the chunk that began first have the lowest, and are sent first. */
  nextPriority(): number;
  /** The attempts at a chunk, or at discovery, in this process. */
  attempts: OneAttempt;
}

/** Opens the artifacts of a store. */
export function openIdentifyArtifacts({ store, analyst, claimTiming }: IdentifyDeps): IdentifyArtifacts {
  let priority = 0;
  const cache = new RecentCache<unknown>(12);
  const json = <T>(ref: ArtifactRef, schema: z.ZodType<T>) =>
    cache.get(ref.sha256, () => getJson(store, ref, schema)) as Promise<T>;
  const trajectories = storedLines(store, trajectorySchema);
  return {
    store,
    analyst,
    claimTiming,
    prepared: (context) => json(context.spec, preparedSpecSchema),
    trajectories,
    outcomes: async (ref, look) => {
      const ids: string[] = [];
      const seen: { success: boolean; task: number }[] = [];
      for await (const trajectory of await trajectories(ref)) {
        look?.(trajectory, ids.length);
        ids.push(trajectory.id);
        seen.push({ success: trajectory.success, task: trajectory.task.seed });
      }
      return { ids, outcomes: trajectoryOutcomes(seen) };
    },
    chunkTrajectories: async (ref, { bytes }) => new LineFile(await store.range(ref, bytes), trajectorySchema),
    candidates: (ref) => json(ref, z.array(candidateSchema)),
    plan: (ref) => json(ref, labelPlanSchema),
    nextPriority: () => ++priority,
    attempts: new OneAttempt(),
  };
}
