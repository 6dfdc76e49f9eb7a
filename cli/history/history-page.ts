import { failedText } from '../../contracts/failed-episodes';
import { barsPlot, countAxis } from '../../activities/charts/bars';
import {
  bothLayouts,
  drawing,
  label,
  type Layout,
  line,
  linear,
  shorten,
  ticks,
  WIDTH,
  xAxis,
} from '../../activities/charts/svg';
import { compact, count, points, pointsRange, sentenceList } from '../../activities/html/format';
import { htmlDocument } from '../../activities/html/html-document';
import { markup, type Markup } from '../../activities/html/markup';
import { dataTable } from '../../activities/html/table';
import { type AgentHistory, foundText, judgedText, type Night, retiredText } from './read-history';

/** Number of newest nights that the pictures show; the table has all. */
const DRAWN = 60;
const ROW = { wide: 26, narrow: 44 } as const;

/** The history of an agent as one HTML document, without scripts, that loads nothing from elsewhere. */
export function renderHistoryPage(history: AgentHistory): string {
  const { agent, nights, active, damaged } = history;
  const drawn = nights.slice(-DRAWN);
  const judged = drawn.filter(({ gain }) => gain !== null);
  const spent = drawn.filter(({ spend }) => spend !== null);
  const promoted = nights.filter(({ version }) => version !== null).length;
  const serves = active === null ? 'The base model alone serves now.' : `Version ${active} serves now.`;
  return htmlDocument(
    `Whetstone: nights of ${agent}`,
    markup`<header class="top"><p class="eyebrow">${agent}</p><h1>Night after night</h1></header>
<main>
<p class="lead">${count(nights.length)} runs that have ended, ${count(promoted)} of them promoted a version. ${serves}</p>
${damaged.map(({ file, problem }) => markup`<p class="alarm">Left out, because it is damaged: ${file}: ${problem}</p>`)}
${
  judged.length > 0 &&
  figure(
    'gain',
    'Gain over the base model',
    'What each night would promote, minus base, paired over held-out tasks, with its interval. ' +
      'Filled: promoted. Nights that compared nothing are left out.',
    bothLayouts((layout) => gainPlot(judged, layout)),
  )
}
${
  spent.length > 0 &&
  figure(
    'spend',
    'What each night used',
    'Rollouts by use; beside the bar the calls of the analyst and the time.',
    bothLayouts((layout) =>
      barsPlot(
        spent.map(spendRow),
        { format: compact, axis: countAxis },
        layout,
        `Rollouts of ${spent.length} nights. ${spent.map(spendSentence).join('; ')}.`,
      ),
    ),
  )
}
<h2>Nights</h2>
${nightTable(nights)}
</main>
<footer>Written by Whetstone from the store. The same as data: <code>whet history ${agent} --json</code>.</footer>`,
  );
}

function figure(id: string, title: string, caption: string, body: Markup): Markup {
  return markup`<figure id="${id}"><figcaption><h3>${title}</h3><p>${caption}</p></figcaption>${body}</figure>`;
}

/** An interval for each night, the oldest on top. */
function gainPlot(nights: readonly Night[], layout: Layout): Markup {
  const width = WIDTH[layout];
  const left = layout === 'wide' ? 260 : 12;
  const top = 10;
  const bottom = top + nights.length * ROW[layout] + 6;
  const gains = nights.flatMap(({ gain }) => gain ?? []);
  const low = Math.min(0, ...gains.map((gain) => gain.low));
  const high = Math.max(0.05, ...gains.map((gain) => gain.high));
  const x = linear([low, high], [left, width - 26]);
  const text = nights.map((night) => `${nameOf(night)}: ${gainOf(night)}`).join('; ');
  return drawing(width, bottom + 50, `Gain over base by night, in percentage points. ${text}.`, [
    ...xAxis(x, ticks(low, high, layout === 'wide' ? 6 : 3), top, bottom, points, 'gain in percentage points'),
    line(x(0), top, x(0), bottom, 'mean'),
    ...nights.flatMap((night, i) => {
      const { gain, version } = night;
      if (gain === null) return [];
      const y = top + (i + (layout === 'wide' ? 0.5 : 0.75)) * ROW[layout];
      const name = version === null ? nameOf(night) : `${nameOf(night)}, version ${version}`;
      const title = markup`<title>${name}: ${gainOf(night)}</title>`;
      return [
        layout === 'wide'
          ? label(0, y + 4, shorten(name, left - 20), { look: version === null ? '' : 'strong' })
          : label(left, y - 12, shorten(name, width - 40), { look: 'halo' }),
        line(x(gain.low), y, x(gain.high), y, 'whisker'),
        markup`<circle cx="${x(gain.estimate)}" cy="${y}" r="5" class="dot ${version === null ? 'hollow' : 'filled'}"
          >${title}</circle
        >`,
      ];
    }),
  ]);
}

const nameOf = ({ night, startedAt }: Night) =>
  `${night === null ? 'run of' : `night ${night},`} ${startedAt.slice(0, 10)}`;
const gainOf = ({ gain }: Night) => (gain === null ? '–' : `${points(gain.estimate)} (${pointsRange(gain)})`);

function spendRow(night: Night): Parameters<typeof barsPlot>[0][number] {
  const { rollouts = 0, trainingRollouts = 0, analystCalls = 0 } = night.spend ?? {};
  return {
    // There is little space next to a bar.
    name: night.night === null ? night.startedAt.slice(0, 10) : `night ${night.night}`,
    parts: [
      { name: 'measuring', value: rollouts, look: 's1' },
      { name: 'training', value: trainingRollouts, look: 's2' },
    ],
    note: `${compact(analystCalls)} calls, ${night.minutes.toFixed(1)} min`,
  };
}

function spendSentence(night: Night): string {
  const { rollouts = 0, trainingRollouts = 0 } = night.spend ?? {};
  return `${nameOf(night)}: ${count(rollouts)} measuring, ${count(trainingRollouts)} training`;
}

function nightTable(nights: readonly Night[]): Markup {
  const names = (list: readonly string[]) => (list.length === 0 ? '–' : sentenceList(list));
  const head = [
    'Night',
    'Began',
    'Run',
    'Outcome',
    'Found',
    'Fixed',
    'Reused',
    'Retired',
    'Version',
    'Gain',
    'Judged at',
  ];
  return dataTable({
    head: [...head, 'Rollouts', 'Analyst calls', 'Analyst tokens', 'Model tokens', 'US dollars', 'Minutes', 'Why'],
    rows: nights.map((night) => {
      const { spend } = night;
      return [
        night.night === null ? '–' : String(night.night),
        night.startedAt.slice(0, 16).replace('T', ' '),
        night.runId,
        night.outcome,
        names(foundText(night)),
        names(night.fixed),
        names(night.reused.map(({ name, from }) => `${name} (${from})`)),
        night.retired === null ? 'not known' : names(retiredText(night)),
        night.version === null ? '–' : String(night.version),
        [gainOf(night), ...(night.failed ? [failedText(night.failed)] : [])].join('; '),
        judgedText(night) || '–',
        spend === null ? '–' : count(spend.rollouts + spend.trainingRollouts),
        spend === null ? '–' : count(spend.analystCalls),
        spend === null ? '–' : compact(spend.analystTokens),
        spend === null ? '–' : compact(spend.modelTokens),
        spend?.usd == null ? '–' : spend.usd.toFixed(2),
        night.minutes.toFixed(1),
        night.reasons.join(' '),
      ];
    }),
  });
}
