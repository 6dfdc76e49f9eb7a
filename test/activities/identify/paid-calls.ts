import { layout, readSegment, type ArtifactStore } from '../../../store';
import { callRecordSchema, type CallRecord } from '../../../contracts/artifacts/call-record';
import { labelSegments, readLabels } from '../../helpers/label-segments';

/** What a run has paid the analyst for. */
export interface PaidCalls {
  /** One record for each call, re-asks included in it; in no particular order. */
  calls: CallRecord[];
  /** Keys of calls that were paid more than once. */
  paidTwice: string[];
}

/**
 * Reads from a run's segments what it has paid for: discovery and synthesis in the run's work files, labels in the
 * agent's label cache.
 */
export async function readPaidCalls(store: ArtifactStore, runId: string, agent: string): Promise<PaidCalls> {
  const calls: CallRecord[] = [];
  const work = `${layout.run(runId)}/work`;
  for (const name of await store.list(work)) {
    if (!name.startsWith('analyst-') || !name.endsWith('.jsonl')) continue;
    calls.push(...(await readSegment(store.segment(`${work}/${name}`), callRecordSchema)).values);
  }
  for (const segment of await labelSegments(store, agent, runId))
    for (const { call } of await readLabels(store, segment)) calls.push(call);
  const seen = new Set<string>();
  const paidTwice = new Set<string>();
  for (const { key } of calls) {
    if (seen.has(key)) paidTwice.add(key);
    seen.add(key);
  }
  return { calls, paidTwice: [...paidTwice].sort() };
}
