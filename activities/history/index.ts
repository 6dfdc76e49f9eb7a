import { type RunRecord, runRecordSchema } from '../../contracts/artifacts/run-record';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import { type ArtifactStore, layout, putJson } from '../../store';

/** The activity that keeps how a run ended without a report. */
export function createHistoryActivities({
  store,
}: {
  store: ArtifactStore;
}): Pick<OrchestrationActivities, 'recordEnd'> {
  return {
    async recordEnd({ runId, agent, outcome, reasons, startedAtMs, endedAtMs }) {
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
    },
  };
}
