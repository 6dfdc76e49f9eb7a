import type { Identification, Report } from '../../../contracts';
import { type ScatterPoint, scatterPlot } from '../charts/scatter';
import { bothLayouts } from '../charts/svg';
import type { ReportDocument } from '../document';
import { dataTable, figure } from '../figure';
import { count, decimal, percent, plural, sentenceList, typeset } from '../format';
import { markup, type Markup } from '../markup';

/** Candidates with their contrast, and what was planted. */
export function identificationSection({ report, sources }: ReportDocument): Markup {
  const { identification } = report;
  const { candidates, calls, kept } = identification;
  return markup`<h2 id="identification">What the agent lacks</h2>
    <p>
      ${plural(candidates.length, 'candidate capability was', 'candidate capabilities were')} named by ${report.analyst} from failed trajectories, and every
      trajectory was labelled for each of them (${plural(calls.label, 'label')} asked, ${count(calls.reused)} reused, ${count(calls.unlabelled)} without an
      answer). A capability is kept when failures lack it clearly more often than successes and enough failures lack it:
      ${plural(kept.length, 'was', 'were')} kept.
    </p>
    ${figure(report.runId, {
      id: 'gap-coverage',
      title: 'Gap against coverage',
      takeaway: takeaway(identification),
      body: markup`${bothLayouts((layout) => scatterPlot(scatterPoints(identification), { minX: identification.thresholds.minCoverage, minY: identification.thresholds.minGap }, layout, description(identification)))}${candidateTable(identification)}`,
      sources: [sources.identification, sources.labels],
    })}
    ${plantedBlock(report)}`;
}

const nameOf = ({ candidates }: Identification, id: string) => candidates.find((c) => c.id === id)?.name ?? id;

/** Number of a candidate: its place among the contrasts, from 1. */
function scatterPoints(identification: Identification): ScatterPoint[] {
  return identification.contrasts.flatMap((c, i) =>
    c.gap === null
      ? []
      : [
          {
            number: i + 1,
            name: nameOf(identification, c.capabilityId),
            x: c.coverage,
            y: c.gap,
            yLow: c.intervals.gap?.low ?? c.gap,
            yHigh: c.intervals.gap?.high ?? c.gap,
            kept: c.kept,
          },
        ],
  );
}

function takeaway(identification: Identification): string {
  const dropped = identification.contrasts.filter((c) => !c.kept);
  const unplotted = identification.contrasts.filter((c) => c.gap === null);
  const parts = [
    'Each mark is a candidate; its upright line is the 95 % interval of the gap. Filled circles in the shaded region are kept, open diamonds dropped.',
    dropped.length > 0 ? `Dropped: ${sentenceList(dropped.map((c) => nameOf(identification, c.capabilityId)))}.` : '',
    unplotted.length > 0
      ? `Not drawn, because it applies to no success or to no failure: ${sentenceList(unplotted.map((c) => nameOf(identification, c.capabilityId)))}.`
      : '',
  ];
  return parts.filter(Boolean).join(' ');
}

function description(identification: Identification): string {
  const points = scatterPoints(identification).map((p) => `${p.name}: coverage ${decimal(p.x)}, gap ${decimal(p.y)}, ${p.kept ? 'kept' : 'dropped'}`);
  return `Scatter plot of gap against coverage. ${points.join('; ')}.`;
}

function candidateTable(identification: Identification): Markup {
  const rate = (value: number | null) => (value === null ? '–' : percent(value, 0));
  return dataTable({
    head: ['', 'Candidate', 'Lacking in failures', 'in successes', 'Gap', 'Coverage', 'Decision'],
    rows: identification.contrasts.map((c, i) => [
      String(i + 1),
      nameOf(identification, c.capabilityId),
      rate(c.errorRateFailure),
      rate(c.errorRateSuccess),
      c.gap === null ? '–' : decimal(c.gap),
      percent(c.coverage, 0),
      c.kept ? 'kept' : typeset(c.reason),
    ]),
  });
}

function plantedBlock({ identification }: Report): Markup | null {
  const { planted } = identification;
  if (!planted) return null;
  const name = (id: string) => nameOf(identification, id);
  const item = (look: 'yes' | 'no', sign: string, text: string) => markup`<li><span class="sign ${look}" aria-hidden="true">${sign}</span>${text}</li>`;
  const total = planted.found.length + planted.missed.length;
  return markup`<h3 id="planted">Against what was planted</h3>
    <p>
      This agent's deficits were planted, so the truth is known. Capabilities are matched to planted deficits by how well the labels agree with the
      environment's own diagnostics (Jaccard index over trajectories), not by name. Found ${planted.found.length} of ${total}; missed ${planted.missed.length};
      invented ${planted.invented.length}; decoys kept ${planted.decoysKept.length}.
    </p>
    <ul class="tags">
      ${planted.found.map((f) => item('yes', '✓', `found: ${f.planted}, as “${name(f.capabilityId)}” (agreement ${decimal(f.jaccard)})`))}
      ${planted.missed.map((p) => item('no', '✗', `missed: ${p}`))}
      ${planted.invented.map((id) => item('no', '!', `invented: “${name(id)}” matches nothing that was planted`))}
      ${planted.decoysKept.map((d) => item('no', '!', `decoy kept: ${d}`))}
    </ul>`;
}
