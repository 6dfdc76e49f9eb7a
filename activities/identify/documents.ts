import { z } from 'zod';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type Candidate, candidateSchema } from '../../contracts/artifacts/identification';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { RunContext } from '../../contracts/messages/run-context';
import type { AnalystFactory } from '../../llm';
import { getJson, LineFile, lineFiles, RecentCache, type ArtifactStore } from '../../store';
import { labelPlanSchema, type Chunk, type LabelPlanDocument } from './label-store';

/** What the identify activities need. */
export interface IdentifyDeps {
  store: ArtifactStore;
  analyst: AnalystFactory;
}

/** Artifacts that the identify activities read. The few that hundreds of chunks share are kept open. */
export interface Documents {
  store: ArtifactStore;
  prepared(context: RunContext): Promise<PreparedSpec>;
  analyst: AnalystFactory;
  trajectories(ref: ArtifactRef): Promise<LineFile<Trajectory>>;
  /**
   * The trajectories of one chunk, without reading the others. Throws StoreCorruptError when they are not what the plan
   * saw.
   */
  trajectoriesOf(ref: ArtifactRef, chunk: Chunk): Promise<LineFile<Trajectory>>;
  candidates(ref: ArtifactRef): Promise<Candidate[]>;
  plan(ref: ArtifactRef): Promise<LabelPlanDocument>;
  /** A number that grows with each call: the chunk that began first is answered first. */
  nextPriority(): number;
}

/** Reader over a store. */
export function openDocuments({ store, analyst }: IdentifyDeps): Documents {
  let priority = 0;
  const small = new RecentCache<unknown>(12);
  const json = <T>(ref: ArtifactRef, schema: z.ZodType<T>) =>
    small.get(ref.sha256, () => getJson(store, ref, schema)) as Promise<T>;
  return {
    store,
    analyst,
    prepared: (context) => json(context.spec, preparedSpecSchema),
    trajectories: lineFiles(store, trajectorySchema),
    trajectoriesOf: async (ref, { bytes }) => new LineFile(await store.range(ref, bytes), trajectorySchema),
    candidates: (ref) => json(ref, z.array(candidateSchema)),
    plan: (ref) => json(ref, labelPlanSchema),
    nextPriority: () => ++priority,
  };
}
