import type { Comparison, Nights } from '../../contracts/artifacts/night';
import { type RunRecord, runRecordSchema } from '../../contracts/artifacts/run-record';
import { type ArtifactStore, layout } from '../../store';
import { unlessLost } from '../reuse/reuse-records';

/** Comparisons of an agent's runs, by their records in its history. */
export type RecordedComparisons = readonly Pick<Comparison, 'runId' | 'against'>[];

/**
 * The comparisons that the agent's history knows, oldest first. A record that is damaged, or of another version of
 * Whetstone, counts as none.
 */
export async function recordedComparisons(store: ArtifactStore, agent: string): Promise<RecordedComparisons> {
  const folder = layout.history(agent);
  const records: RunRecord[] = [];
  for (const name of await store.list(folder)) {
    const record = await readRecord(store, `${folder}/${name}`);
    if (record !== null) records.push(record);
  }
  records.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const found = records.flatMap(({ runId, figures }) =>
    figures?.judged === undefined ? [] : [[runId, { runId, against: figures.judged.against }] as const],
  );
  return [...new Map(found).values()];
}

const NONE = ['EISDIR', 'ENOTDIR'];

/**
 * Null for a document that is no record. A disk that does not answer is no reason to judge less strictly: that is
 * thrown.
 */
async function readRecord(store: ArtifactStore, key: string): Promise<RunRecord | null> {
  try {
    const text = await unlessLost(() => store.getNamed(key));
    return text === null ? null : (runRecordSchema.safeParse(JSON.parse(String(text))).data ?? null);
  } catch (error) {
    if (error instanceof SyntaxError || NONE.includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/**
 * Adds to the nights the comparisons that only the run records still have, because the nights document was removed or
 * set back. So spent error stays spent. The record of a comparison without a version does not name the base model. This
 * run's base model is assumed, which is stricter. If this run is counted already, nothing is added.
 */
export function withRecordedComparisons(nights: Nights, own: Comparison, recorded: RecordedComparisons): Nights {
  const known = new Set(nights.comparisons.flatMap(({ runId, against }) => (against === own.against ? [runId] : [])));
  if (known.has(own.runId)) return nights;
  const lost = recorded.filter(
    ({ runId, against }) => against === own.against && runId !== own.runId && !known.has(runId),
  );
  if (lost.length === 0) return nights;
  const { baseModel } = own;
  return { ...nights, comparisons: [...nights.comparisons, ...lost.map((one) => ({ ...one, baseModel }))] };
}
