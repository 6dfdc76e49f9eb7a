import type { Context } from '../context';
import { CliError } from '../errors';
import { withTemporal } from '../temporal';
import { explainRun } from '../view/explain';
import { readReport, reportText } from '../view/report-text';
import { readRunState } from '../view/run-state';

/** `whet report RUN`: the result's table and where the report lies; with --json the report itself. */
export async function reportCommand({ settings, out }: Context, runId: string): Promise<void> {
  await withTemporal(settings, async ({ client }) => {
    const state = await readRunState(client, runId);
    if (state.result === null)
      throw new CliError([`${runId} has no report.`, ...explainRun(state)].join('\n'), { type: 'Report.Missing' });
    const { reportDirectory } = state.result;
    const report = await readReport(reportDirectory);
    out.result(
      report,
      `${reportText(report)}\n\n${report.notes.join('\n')}\n\n` +
        `${reportDirectory}/report.html\nreport: ${reportDirectory}/report.json`,
    );
  });
}
