import type { EnvironmentAttempt } from '../../../contracts/artifacts/environment-attempt';
import type { EnvironmentCheck, Figure } from '../../../contracts/artifacts/environment-check';
import type { Report, SharpenedReport } from '../../../contracts/artifacts/report';
import { count, decimal, sentenceList, typeset } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import type { ReportDocument } from '../report-document';
import { artifactLink } from '../artifact-links';

/**
 * The certificate of every environment: each check with numbers, thresholds and a sentence. It is collapsed, because it
 * is long.
 */
export function certificatesSection({ report }: ReportDocument): Markup | null {
  if (report.sharpened.length === 0) return null;
  return markup`<h2 id="certificates">Certificates</h2>
    <p>
      Before an adapter is trained in an environment, it has to be shown that the environment can be solved, that
      nothing but the capability pays, that the same seed gives the same task, and that the base model neither always
      nor never succeeds. Then the analyst labels some rollouts without their rewards: the environment is wrong where it
      pays for what lacks the capability.
    </p>
    ${report.sharpened.flatMap((sharpened) =>
      sharpened.attempts.map((attempt) => certificate(report, sharpened, attempt)),
    )}`;
}

function certificate(
  { runId }: Report,
  { capability }: SharpenedReport,
  { attempt, validation, certificate: found }: EnvironmentAttempt,
): Markup {
  const checks = [...validation.checks, found.calibrated, found.secondReader].filter((check) => check !== null);
  return markup`<details class="certificate">
    <summary>${capability.name}, attempt ${attempt}: ${found.summary}</summary>
    ${dataTable({
      head: ['Check', 'Part of', 'Verdict', 'Figures', 'What was seen'],
      rows: checks.map((check) => [check.name, check.group, stamp(check), figures(check), typeset(check.detail)]),
    })}
    ${found.transfer && markup`<p>Transfer, before training: ${typeset(found.transfer.detail)}</p>`}
    <p class="source">${artifactLink(runId, found.ref, 'certificate')}</p>
  </details>`;
}

const stamp = ({ passed }: EnvironmentCheck): Markup =>
  passed ? markup`<span class="stamp yes">✓</span>` : markup`<span class="stamp no">✗</span>`;

const number = (value: number): string => (Number.isInteger(value) ? count(value) : decimal(value));

function limitOf({ atLeast, atMost }: Figure): string {
  if (atLeast !== undefined && atMost !== undefined) return ` (${number(atLeast)} to ${number(atMost)})`;
  if (atLeast !== undefined) return ` (at least ${number(atLeast)})`;
  return atMost === undefined ? '' : ` (at most ${number(atMost)})`;
}

const figures = ({ figures: all }: EnvironmentCheck): string =>
  all.length === 0
    ? '–'
    : sentenceList(all.map((figure) => `${figure.name} ${number(figure.value)}${limitOf(figure)}`));
