import { cleanBlock } from '../../contracts/clean-text';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { layout, LocalStore } from '../../store';
import type { Context } from '../context';
import { CliError } from '../errors';
import { withTemporal } from '../temporal';
import { explainRun } from '../view/explain';
import { readReport, reportText } from '../view/report-text';
import { readRunState } from '../view/run-state';

/** Failures of the server after which the store may still have the report. */
const WITHOUT_SERVER: readonly string[] = ['Temporal.Unreachable', 'Run.NotFound'];

/**
 * `whet report RUN`: prints the result's table and the report's place; with --json the report itself. If no Temporal
 * server answers, or if it no longer knows the run, the report in the store is shown.
 */
export async function reportCommand(context: Context, runId: string): Promise<void> {
  const directory = await directoryOfResult(context, runId).catch(async (error: unknown) => {
    if (!(error instanceof CliError) || !WITHOUT_SERVER.includes(error.type)) throw error;
    const stored = await storedReport(context, runId);
    if (stored === null) throw error;
    context.out.line(`${error.message.split('\n')[0]}\nThis is the report in the store.\n`);
    return stored;
  });
  const report = await readReport(directory);
  // The notes of the page include the caveats of the table.
  const notes = report.notes.filter((note) => !report.evaluation?.caveats.includes(note));
  context.out.result(
    report,
    `${reportText(report)}\n\n${notes.map(cleanBlock).join('\n')}\n\n${directory}/report.html\nreport: ${directory}/report.json`,
  );
}

/** @throws CliError if the run has no report, and for errors of the server. */
function directoryOfResult({ settings }: Context, runId: string): Promise<string> {
  return withTemporal(settings, async ({ client }) => {
    const state = await readRunState(client, runId);
    if (state.result === null || state.result.reportDirectory === null)
      throw new CliError([`${runId} has no report.`, ...explainRun(state)].join('\n'), { type: 'Report.Missing' });
    return state.result.reportDirectory;
  });
}

/** Directory of a run's report in the store of this machine; null if there is none. */
async function storedReport({ settings }: Context, runId: string): Promise<string | null> {
  if (/[/\\]/.test(runId)) return null;
  const directory = new LocalStore(settings.storeRoot).localPath(layout.report(runId));
  return access(join(directory, 'report.json')).then(
    () => directory,
    () => null,
  );
}
