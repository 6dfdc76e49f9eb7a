import { htmlDocument } from '../html/html-document';
import { markup } from '../html/markup';
import type { ReportDocument } from './report-document';
import { certificatesSection } from './sections/certificates';
import { artifactsSection, costSection } from './sections/cost';
import { evaluationSection } from './sections/evaluation';
import { identificationSection } from './sections/identification';
import { headerSection, summarySection } from './sections/summary';
import { environmentsSection, trainingSection } from './sections/training';

/** The report as one HTML document. */
export function renderReportPage(document: ReportDocument): string {
  const { agent, runId } = document.report;
  return htmlDocument(
    `Whetstone: ${agent}, run ${runId}`,
    markup`${headerSection(document)}
<main>
${summarySection(document)}
${identificationSection(document)}
${environmentsSection(document)}
${certificatesSection(document)}
${trainingSection(document)}
${evaluationSection(document)}
${costSection(document)}
${artifactsSection(document)}
</main>
<footer>Written by Whetstone. The same figures as data: <a href="report.json">report.json</a>.</footer>`,
  );
}
