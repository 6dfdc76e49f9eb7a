import type { Contrast, Identification } from '../../../contracts/artifacts/identification';
import type { Report } from '../../../contracts/artifacts/report';
import { failedTasksText, failedText } from '../../../contracts/failed-episodes';
import { type ScatterPoint, scatterPlot } from '../../charts/scatter';
import { bothLayouts } from '../../charts/svg';
import { count, decimal, percent, plural, sentenceList, typeset } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import type { ReportDocument } from '../report-document';
import { figure } from '../figure';
import { experimentBlock, keepError } from './identification-experiments';
import { openQuestions, readsConversations } from './conversations';
import { candidateName, ablationBlock, evidenceBlock, mergeBlock, plantedBlock } from './identification-details';

/** Candidates with their contrast and verdict, the evidence for them, and the planted deficits. */
export function identificationSection({ report, sources }: ReportDocument): Markup {
  const { identification } = report;
  const { failed, failedTasks, withoutCalls, notWhole, successes } = report.collect;
  const isRead = readsConversations(report);
  const unit = isRead ? conversations(report) : TASKS;
  const part = isRead ? 'conversation' : 'rollout';
  const lost =
    failed &&
    markup`<p>
      Without a result ${failedText(failed)}${failedTasksText(failedTasks)}: these rollouts were not labelled and are in
      no rate.
    </p>`;
  const unskilled =
    withoutCalls !== undefined &&
    markup`<p>
      ${count(withoutCalls)} of the ${plural(successes, 'success', 'successes')} came without a call of a tool. They show
      no skill with the tools, and they narrow the gap of a capability that a success needs.
    </p>`;
  const cut =
    notWhole !== undefined &&
    markup`<p>
      ${plural(notWhole, `${part} is`, `${part}s are`)} not whole: a trajectory cannot hold parts such as images, so the
      analyst did not see them.
    </p>`;
  const [merges, evidence] = [mergeBlock(identification), evidenceBlock(identification)];
  const [ablations, planted] = [ablationBlock(identification), plantedBlock(identification)];
  return markup`<h2 id="identification">What the agent lacks</h2>
    ${introduction(identification, report.analyst, unit)}${lost}${unskilled}${cut}
    ${figure(report.runId, {
      id: 'gap-coverage',
      title: 'Gap against coverage',
      takeaway: takeaway(identification),
      body: markup`${plot(identification)}${candidateTable(identification)}${
        readsConversations(report) ? openQuestions(report) : reasons(identification)
      }`,
      sources: [sources.identification, sources.labels],
    })}
    ${experimentBlock(identification)} ${merges} ${evidence} ${ablations} ${planted}`;
}

function plot(identification: Identification): Markup {
  const { minCoverage, minGap } = identification.thresholds;
  const points = scatterPoints(identification);
  const text = description(identification);
  return bothLayouts((layout) => scatterPlot(points, { minX: minCoverage, minY: minGap }, layout, text));
}

const TASKS: Units = { episode: 'trajectory', episodes: 'trajectories', task: 'task' };

/** Some formats keep which conversations are of one task. In others each is a task of its own. */
const conversations = ({ identification: { power }, collect }: Report): Units => ({
  ...{ episode: 'conversation', episodes: 'conversations' },
  task: power === undefined || power.tasks === collect.episodes ? 'conversation' : 'task',
});

/** What an episode and a task are called. */
interface Units {
  episode: string;
  episodes: string;
  task: string;
}

function introduction(identification: Identification, analyst: string, unit: Units): Markup {
  const { candidates, calls, kept, rule, arm } = identification;
  const runs =
    rule.runs === 1
      ? 'in one labelling run'
      : `in up to ${rule.runs} independent labelling runs, of which ${rule.quorum} have to pass both thresholds; ` +
        'a candidate whose verdict could not change any more was not labelled again';
  const saved = calls.saved === 0 ? '' : `, ${count(calls.saved)} not needed`;
  return markup`<p>
      ${plural(candidates.length, 'candidate capability was', 'candidate capabilities were')} named by ${analyst} from
      failed ${unit.episodes}, and every ${unit.episode} was labelled for each of them ${runs}
      (${plural(calls.label, 'label')} asked, ${count(calls.reused)} reused, ${count(calls.unlabelled)} without an
      answer${saved}). A capability is kept when failures lack it clearly more often than successes and enough failures
      lack it, unless its lack has no effect of its own beside another capability. A rare one is kept if its lack
      decides its episodes. The chance that any candidate without a gap and without an effect is kept is below
      ${percent(keepError(identification), 0)}.
      ${plural(kept.length, 'was', 'were')} ${arm === 'contrast' ? 'kept' : 'chosen'}. ${powerInWords(identification, unit)}
    </p>
    ${
      arm !== 'contrast' &&
      markup`<p class="alarm">
        <strong>Ablation:</strong> capabilities were chosen by the arm ${arm}, not by contrast.
      </p>`
    }`;
}

/** How rare a need these tasks could show. */
function powerInWords({ power }: Identification, { task }: Units): string {
  if (power === undefined) return '';
  const { tasks, otherRisk, rarestNeed } = power;
  const others =
    otherRisk === null ? '' : `; of the episodes that lack none of the candidates, ${percent(otherRisk, 0)} fail`;
  return rarestNeed === null
    ? `With ${plural(tasks, task)}, a rare need could not be found${others}.`
    : `With ${plural(tasks, task)}, a need of ${percent(rarestNeed, 1)} of the ${task}s or more is found in four of five ` +
        `cases, if half of the ${task}s that need it lack it and fail${others}.`;
}

/** Candidates with a gap; a candidate's number is its position among the contrasts, from 1. */
function scatterPoints(identification: Identification): ScatterPoint[] {
  return identification.contrasts.flatMap((c, i) =>
    c.gap === null
      ? []
      : [
          {
            number: i + 1,
            name: candidateName(identification, c.capabilityId),
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
  const names = (wanted: (c: Contrast) => boolean) =>
    identification.contrasts.filter(wanted).map((c) => candidateName(identification, c.capabilityId));
  const rejected = names((c) => c.verdict === 'rejected');
  const undecided = names((c) => c.verdict === 'not-enough-data');
  const untrainable = names((c) => c.verdict === 'not-trainable');
  const unplotted = names((c) => c.gap === null);
  const parts = [
    'ER− and ER+ are the shares lacking it among failures and successes that call for it. Each mark is a ' +
      'candidate, the mean of its labelling runs; its upright line is the 95 % interval of the gap. Filled circles ' +
      'are kept, open diamonds are not; in the shaded region both thresholds are reached.',
    identification.rule.runs > 1
      ? 'In the table: standard deviation of the gap between runs (SD), runs that passed both thresholds, and the ' +
        'agreement of the runs (Fleiss, κ).'
      : '',
    rejected.length > 0 ? `Rejected: ${sentenceList(rejected)}.` : '',
    untrainable.length > 0 ? `Not trainable: ${sentenceList(untrainable)}.` : '',
    undecided.length > 0 ? `Not enough data: ${sentenceList(undecided)}.` : '',
    unplotted.length > 0
      ? `Not drawn, because it applies to no success or to no failure: ${sentenceList(unplotted)}.`
      : '',
  ];
  return parts.filter(Boolean).join(' ');
}

function description(identification: Identification): string {
  const points = scatterPoints(identification).map(
    (p) => `${p.name}: coverage ${decimal(p.x)}, gap ${decimal(p.y)}, ${p.kept ? 'kept' : 'not kept'}`,
  );
  return `Scatter plot of gap against coverage. ${points.join('; ')}.`;
}

function candidateTable(identification: Identification): Markup {
  const rate = (value: number | null) => (value === null ? '–' : percent(value, 0));
  const several = identification.rule.runs > 1;
  const range = (interval: { low: number; high: number } | null) =>
    interval === null
      ? null
      : markup`<br /><span class="ci">${decimal(interval.low)} to ${decimal(interval.high)}</span>`;
  return dataTable({
    head: [
      '',
      'Candidate',
      'ER−',
      'ER+',
      'Gap',
      'Coverage',
      'Own effect',
      ...(several ? ['SD', 'Passed', 'κ'] : []),
      'Verdict',
    ],
    rows: identification.contrasts.map((c, i) => [
      String(i + 1),
      markup`${candidateName(identification, c.capabilityId)}${c.status && markup` <span class="muted">${c.status}</span>`}`,
      rate(c.errorRateFailure),
      rate(c.errorRateSuccess),
      markup`${c.gap === null ? '–' : decimal(c.gap)}${range(c.intervals.gap)}`,
      markup`${decimal(c.coverage)}${range(c.intervals.coverage)}`,
      markup`${c.partial.effect === null ? '–' : decimal(c.partial.effect.estimate)}${range(c.partial.effect)}`,
      ...(several
        ? [
            c.standardDeviation.gap === null ? '–' : decimal(c.standardDeviation.gap, 3),
            `${c.runsPassed} of ${c.runs.length}`,
            c.agreement === null ? '–' : decimal(c.agreement),
          ]
        : []),
      verdictWord(c, (id) => candidateName(identification, id)),
    ]),
  });
}

/** The verdict in a word or two, for the table. */
function verdictWord({ verdict, moreFailures, partial }: Contrast, nameOf: (id: string) => string): string {
  if (verdict === 'not-trainable') return 'not trainable';
  if (verdict === 'rejected' && partial.experiment?.finding === 'no-effect') return 'no effect in an experiment';
  if (verdict === 'rejected' && partial.goesWith !== null) return `goes along with ${nameOf(partial.goesWith)}`;
  if (verdict !== 'not-enough-data') return verdict;
  if (partial.goesWith !== null) return `not separable from ${nameOf(partial.goesWith)}`;
  return moreFailures === null ? 'not enough data' : `not enough data: about ${count(moreFailures)} more failures`;
}

/** Why candidates were not kept, with the numbers. Null if all were kept. */
function reasons(identification: Identification): Markup | null {
  const others = identification.contrasts.filter(({ kept }) => !kept);
  if (others.length === 0) return null;
  return markup`<ul class="reasons">
    ${others.map(
      (c) => markup`<li><strong>${candidateName(identification, c.capabilityId)}.</strong> ${typeset(c.reason)}</li>`,
    )}
  </ul>`;
}
