import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type RunRecord, runRecordSchema } from '../../contracts/artifacts/run-record';
import type { EndRecord } from '../../contracts/messages/run';
import { type ArtifactStore, layout, putJson } from '../../store';

/** Activity: keeps how a run ended without a report. */
export async function recordEnd(
  store: ArtifactStore,
  { runId, agent, outcome, reasons, startedAtMs, endedAtMs }: EndRecord,
): Promise<ArtifactRef> {
  const record: RunRecord = {
    schemaVersion: 1,
    runId,
    agent,
    outcome,
    reasons,
    startedAt: new Date(startedAtMs).toISOString(),
    endedAt: new Date(endedAtMs).toISOString(),
    figures: null,
  };
  return putJson(store, layout.history(agent), `${runId}.json`, runRecordSchema.parse(record));
}
