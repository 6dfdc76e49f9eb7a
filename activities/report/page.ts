import type { ReportDocument } from './document';
import { markup } from './markup';
import { artifactsSection, costSection } from './sections/cost';
import { evaluationSection } from './sections/evaluation';
import { identificationSection } from './sections/identification';
import { headerSection, summarySection } from './sections/summary';
import { environmentsSection, trainingSection } from './sections/training';
import { STYLE } from './style';

/**
 * The report as one HTML document without scripts and without anything from elsewhere; the content security policy forbids both, so
 * that text of the analyst or the agent could do nothing even if it got past the escaping.
 */
export function renderPage(document: ReportDocument): string {
  const { report } = document;
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="color-scheme" content="light dark">
<title>Whetstone: ${report.agent}, run ${report.runId}</title>
<style>${STYLE}</style>
</head>
<body>
${headerSection(document)}
<main>
${summarySection(document)}
${identificationSection(document)}
${environmentsSection(document)}
${trainingSection(document)}
${evaluationSection(document)}
${costSection(document)}
${artifactsSection(document)}
</main>
<footer>Written by Whetstone. The same figures as data: <a href="report.json">report.json</a>.</footer>
</body>
</html>
`.text;
}
