import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import { type PreparedSpec, preparedSpecSchema } from '../contracts/artifacts/prepared-spec';
import { type ArtifactStore, getJson } from '../store';

/** Reads the spec that `prepareRun` froze for the run. Throws StoreCorruptError, and ZodError for another format. */
export function readPreparedSpec(store: ArtifactStore, ref: ArtifactRef): Promise<PreparedSpec> {
  return getJson(store, ref, preparedSpecSchema);
}
