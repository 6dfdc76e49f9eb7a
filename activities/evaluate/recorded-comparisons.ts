import type { Comparison, Nights } from '../../contracts/artifacts/night';
import { type RunRecord, runRecordSchema } from '../../contracts/artifacts/run-record';
import { type ArtifactStore, layout } from '../../store';
import { unlessLost } from '../reuse/reuse-records';

/** The comparisons of an agent's runs, according to the run records in its history. */
export type RecordedComparisons = readonly Pick<Comparison, 'runId' | 'against'>[];

/**
 * The comparisons in the agent's history, oldest first. A record that is damaged, or of another version of Whetstone,
 * is ignored.
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
 * Null for a document that is not a record. If the disk does not answer, an error is thrown, because ignoring records
 * would lower the confidence.
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
 * Adds comparisons that only the run records still have, because the document of nights was removed or restored from a
 * backup. So the share of the allowed error that they used stays used. The record of a comparison without a version
 * does not name the base model. It is assumed to be this run's base model, which is stricter. If this run was counted
 * already, nothing is added.
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
