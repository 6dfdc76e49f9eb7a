import type { Contrast } from '../../../contracts/artifacts/identification';
import type { Report } from '../../../contracts/artifacts/report';
import { count, decimal, percent, percentRange, plural, typeset } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import { candidateName } from './identification-details';

/** Whether the run read conversations and played nothing. */
export const readsConversations = ({ collect }: Pick<Report, 'collect'>): boolean => collect.ingested !== undefined;

/** How many conversations fail, as a sentence; and of how many nobody knows. */
export function failingSentence({ collect }: Pick<Report, 'collect'>): string {
  const { episodes, failures, withoutOutcome = 0 } = collect;
  const open =
    withoutOutcome === 0
      ? ''
      : ` ${plural(withoutOutcome, 'further one has', 'further ones have')} no outcome and ` +
        `${withoutOutcome === 1 ? 'is' : 'are'} left out.`;
  return `${count(failures)} of ${plural(episodes, 'conversation')} failed (${percent(failures / episodes)}).${open}`;
}

/** What was found in conversations: what the agent lacks, how sure that is, and what a remedy would gain at most. */
export function foundSection(report: Report): Markup {
  const { identification } = report;
  const kept = identification.kept.flatMap((id) => identification.contrasts.filter((c) => c.capabilityId === id));
  const nothing =
    'No capability was found that failures lack clearly more often than successes. The table below says what was ' +
    'looked at.';
  return markup`<p>${typeset(failingSentence(report))} Nothing was played or trained.</p>
    ${kept.length === 0 ? markup`<p>${nothing}</p>` : keptTable(report, kept)}`;
}

function keptTable(report: Report, kept: readonly Contrast[]): Markup {
  const { identification, collect } = report;
  const { episodes, failures } = collect;
  const interval = ({ low, high }: { low: number; high: number }) =>
    markup` <span class="ci">${percentRange({ low, high })}</span>`;
  const summaryOf = (id: string) => identification.candidates.find((candidate) => candidate.id === id)?.summary;
  return markup`${dataTable(
    {
      head: [
        'What the agent lacks',
        markup`Failures that lack it <span class="ci">95 % interval</span>`,
        markup`Gap to successes <span class="ci">95 % interval</span>`,
        'Of all conversations, at most',
      ],
      rows: kept.map(({ capabilityId: id, coverage, gap, intervals }) => [
        markup`${candidateName(identification, id)}${summaryOf(id) && markup`<br /><span class="muted">${summaryOf(id)}</span>`}`,
        markup`<span class="big">${percent(coverage)}</span>${intervals.coverage && interval(intervals.coverage)}`,
        markup`<span class="big">${gap === null ? '–' : decimal(gap)}</span>${
          intervals.gap &&
          markup` <span class="ci">${decimal(intervals.gap.low)} to ${decimal(intervals.gap.high)}</span>`
        }`,
        percent((coverage * failures) / episodes),
      ]),
    },
    { name: 'what the agent lacks', look: 'key' },
  )}
  <p>
    Gap: how much more often failures than successes lack it, where it is called for. The last column is what could be
    gained if nothing else were wrong in these conversations; some lack several of these.
  </p>`;
}

/** What was looked at and not kept: what was ruled out, and what more conversations would tell. */
export function openQuestions(report: Report): Markup | null {
  const { identification, collect } = report;
  const others = identification.contrasts.filter(({ kept }) => !kept);
  const open = others.filter(({ verdict }) => verdict === 'not-enough-data');
  const perFailure = collect.episodes / collect.failures;
  const more = ({ moreFailures }: Contrast): string =>
    moreFailures === null
      ? ''
      : ` About ${count(moreFailures * perFailure)} more conversations with as many failures among them would tell.`;
  const list = (title: string, contrasts: readonly Contrast[], after: (contrast: Contrast) => string) =>
    contrasts.length > 0 &&
    markup`<h4>${title}</h4>
      <ul class="reasons">
        ${contrasts.map(
          (c) =>
            markup`<li>
              <strong>${candidateName(identification, c.capabilityId)}.</strong> ${typeset(c.reason + after(c))}
            </li>`,
        )}
      </ul>`;
  if (others.length === 0) return null;
  const ruledOut = others.filter((c) => !open.includes(c));
  return markup`${list('Looked at and ruled out', ruledOut, () => '')} ${list('Cannot be told yet', open, more)}`;
}
