import type { Report } from '../../contracts/artifacts/report';
import { recordOfReport } from '../../contracts/artifacts/run-record';
import type { RunOutcome } from '../../contracts/names';
import type { Repetition } from '../../contracts/messages/repair';
import type { ReportInput, ReportResult } from '../../contracts/messages/run';
import { type ArtifactStore, changeNights, layout, putJson, replaceFile } from '../../store';
import { scheduledAt } from '../live-traffic';
import { assembleReport, figureSources } from './assemble-report';
import { renderReportPage } from './report-page';

/** Outcomes after which a night counts as done: the run has worked on every capability that needed work. */
const WORKED: readonly RunOutcome[] = ['promoted', 'not-promoted', 'nothing-to-sharpen', 'nothing-trained'];

/**
 * Activity: writes report.json and report.html as artifacts and as plain copies in the run's report directory; a
 * repeated call replaces the copies. Keeps the run in the agent's history. Throws when an artifact that the input
 * refers to is missing or broken.
 */
export async function renderReport(
  store: ArtifactStore,
  input: ReportInput,
  repetition?: Repetition,
): Promise<ReportResult> {
  const report = await assembleReport(store, input, new Date(scheduledAt(repetition)));
  const directory = layout.report(input.context.runId);
  const json = await putJson(store, directory, 'report.json', report);
  const page = renderReportPage({ report, sources: figureSources(input, json) });
  const html = await store.put(directory, 'report.html', page, { mediaType: 'text/html; charset=utf-8' });
  await replaceFile(store.localPath(`${directory}/report.json`), await store.get(json));
  await replaceFile(store.localPath(`${directory}/report.html`), page);
  const record = recordOfReport(report);
  await putJson(store, layout.history(report.agent), `${report.runId}.json`, {
    ...record,
    reasons: [...record.reasons, ...(input.unanswered ?? []), ...(input.beside ? [input.beside] : [])],
  });
  if (WORKED.includes(report.verdict) && (input.unanswered ?? []).length === 0)
    await changeNights(store, report.agent, (before) => ({
      ...before,
      nights: before.nights.map((night) =>
        night.runId === report.runId ? { ...night, worked: true, ...triedAlone(report) } : night,
      ),
    }));
  return { html, json, directory: store.localPath(directory) };
}

/**
 * Whether a run judged the active version without one of its adapters, and without a new adapter, on held-out tasks: a
 * verdict about both changes together says nothing about the adapter. Empty if the night had no reason to leave an
 * adapter out.
 */
function triedAlone({ night, sharpened, mixed, evaluation }: Report): { triedAlone?: boolean } {
  if (night?.reasons.some(({ kind }) => kind === 'harms' || kind === 'no-longer-helps') !== true) return {};
  const served = new Set(night.adapters.map(({ sha256 }) => sha256));
  const hasNew = sharpened.some(({ adapter }) => adapter !== null && !served.has(adapter.sha256));
  return { triedAlone: evaluation !== null && !mixed && !hasNew };
}
