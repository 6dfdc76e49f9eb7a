import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { Arm, Culprit, Evaluation, Gate } from '../../../contracts/artifacts/evaluation';
import type { Report } from '../../../contracts/artifacts/report';
import { failedOfArms, failedText } from '../../../contracts/failed-episodes';
import { isMixedAlone } from '../../../contracts/artifacts/router-choice';
import { gateConfidenceNote } from '../../../contracts/statistics/gate-confidence-note';
import { ENDED_AFTER_IDENTIFY, type RunOutcome } from '../../../contracts/names';
import { type ForestRow, forestPlot } from '../../charts/intervals';
import { bothLayouts } from '../../charts/svg';
import { count, duration, percent, percentRange, plural, points, pointsRange, typeset } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import type { ReportDocument } from '../report-document';
import { shortHash } from '../artifact-links';
import { figure } from '../figure';
import { UNSAFE_NOTE } from '../report-notes';
import { failingSentence, foundSection, readsConversations } from './conversations';

const VERDICT_WORDS: Record<RunOutcome, string> = {
  running: 'Still running',
  promoted: 'Promoted',
  'not-promoted': 'Not promoted',
  'nothing-to-sharpen': 'Nothing to sharpen',
  'nothing-trained': 'Nothing trained',
  diagnosed: 'Diagnosed',
  'nothing-new': 'Nothing new',
  'too-little-power': 'Too few tasks to tell',
  expired: 'Nobody answered in time',
  skipped: 'Skipped',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

const DIAGNOSED = markup`<p>${ENDED_AFTER_IDENTIFY}</p>`;
const NOT_EVALUATED = markup`<p>Nothing was evaluated, because no adapter was trained.</p>`;

/** The name of an adapter's capability; if no capability has the adapter, its served name. */
function adapterName(report: Report, servedName: string): string {
  return report.sharpened.find((s) => s.adapter?.name === servedName)?.capability.name ?? servedName;
}

/** Alarm, headline and verdict. */
export function headerSection({ report }: ReportDocument): Markup {
  const { evaluation, verdict, promotedVersion } = report;
  const alarm = report.notes.filter((note) => note.startsWith(UNSAFE_NOTE));
  const words = `${VERDICT_WORDS[verdict]}${promotedVersion === null ? '' : ` as version ${promotedVersion}`}`;
  const look = ['promoted', 'diagnosed', 'nothing-new'].includes(verdict) ? 'good' : 'bad';
  return markup`<header class="top">
    ${alarm.map(
      (note) =>
        markup`<p class="alarm" role="alert"><strong>${UNSAFE_NOTE}</strong> ${note.slice(UNSAFE_NOTE.length)}</p>`,
    )}
    <p class="eyebrow">Whetstone report · agent ${report.agent} · run ${report.runId}</p>
    <h1>${headline(report)}</h1>
    <p class="lead"><span class="verdict ${look}">${words}</span> ${evaluation && gainSentence(evaluation)}</p>
  </header>`;
}

/** The key table with its plot, the gate's reasons, the notes and the facts of the run. */
export function summarySection({ report, sources }: ReportDocument): Markup {
  const { evaluation, gate, notes, night } = report;
  const apart = evaluation && gateConfidenceNote(evaluation);
  return markup`${night && markup`<p>${typeset(night.sentence)}</p>`}
    ${evaluation ? keyTable(report, evaluation) : withoutEvaluation(report)}
    ${
      gate &&
      markup`<h3>${gateTitle(gate)}</h3>
        <ul class="reasons">${gate.reasons.map((reason) => markup`<li>${typeset(reason)}</li>`)}</ul>
        ${apart && markup`<p>${typeset(apart)}</p>`}`
    }
    ${evaluation && sources.evaluation && forest(report, evaluation, sources.evaluation)}
    ${
      notes.length > 0 &&
      markup`<section class="notes" aria-label="notes">
        <h2>Read with the numbers</h2>
        <ul>${notes.map((note) => markup`<li>${typeset(note)}</li>`)}</ul>
      </section>`
    }
    ${facts(report)}`;
}

function withoutEvaluation(report: Report): Markup {
  if (report.verdict !== 'diagnosed') return NOT_EVALUATED;
  return readsConversations(report) ? foundSection(report) : DIAGNOSED;
}

/** The causes of a gate that was not passed, in words. */
const CULPRITS: Record<Culprit, string> = {
  incumbent: 'the active version is as good',
  router: 'the router',
  adapter: 'the adapters',
  environment: 'the environments',
  power: 'too few tasks to tell',
};

function gateTitle({ passed, culprit }: Gate): string {
  if (passed) return 'Why the gate passed';
  return `Why the gate did not pass${culprit === undefined ? '' : `: ${CULPRITS[culprit]}`}`;
}

function headline({ evaluation, verdict, agent, identification, night }: Report): string {
  if (night && (verdict === 'nothing-new' || verdict === 'too-little-power'))
    return (
      `Version ${night.version} of ${agent} passes ${percent(night.served)} of tonight\u2019s train tasks, ` +
      `the base model ${percent(night.base)}`
    );
  if (evaluation) {
    const { routed, base } = evaluation;
    return (
      `${isMixedAlone(evaluation.router.choice) ? 'One adapter for all tasks passes' : 'Routed adapters pass'} ` +
      `${percent(routed.passRate.estimate)} of held\u2011out tasks, ` +
      `the base model ${percent(base.passRate.estimate)}`
    );
  }
  if (verdict === 'diagnosed') return `${agent} was diagnosed: ${kept(identification)} found lacking`;
  if (verdict === 'nothing-to-sharpen' || verdict === 'nothing-trained')
    return `No adapter for ${agent}: ${kept(identification)} kept, none trained`;
  return `The improvement run of ${agent} did not reach its evaluation`;
}

/** How many capabilities are kept, and their names where these are few enough for a headline. */
function kept({ kept, candidates }: Report['identification']): string {
  const count = plural(kept.length, 'capability', 'capabilities');
  if (kept.length === 0 || kept.length > 4) return count;
  const names = kept.map((id) => candidates.find((candidate) => candidate.id === id)?.name ?? id);
  return `${count} (${names.join(', ')})`;
}

function gainSentence({ routedMinusBase, confidence, tasks, trials }: Evaluation): string {
  return (
    `The paired difference is ${points(routedMinusBase.estimate)} points, ` +
    `${percent(confidence, 0)} interval ${pointsRange(routedMinusBase)}, ` +
    `on ${plural(tasks, 'task')} with ${plural(trials, 'trial')} each.`
  );
}

/** Arms of the key table in order, with readable names. */
function keyArms(report: Report, evaluation: Evaluation): { name: string; arm: Arm }[] {
  const { base, bestSingle, mixed, incumbent, routed, oracle } = evaluation;
  const mixedAlone = isMixedAlone(evaluation.router.choice);
  return [
    { name: 'Base model', arm: base },
    ...(incumbent ? [{ name: `Active version ${incumbent.version}`, arm: incumbent.arm }] : []),
    { name: `Best single adapter: ${adapterName(report, bestSingle.name)}`, arm: bestSingle },
    ...(mixed && !mixedAlone ? [{ name: 'One adapter, environments mixed', arm: mixed }] : []),
    { name: mixedAlone ? 'Candidate: one adapter, environments mixed' : 'Candidate: routed adapters', arm: routed },
    { name: 'Oracle over base and adapters', arm: oracle },
  ];
}

const withInterval = (estimate: string, interval: string): Markup =>
  markup`<span class="big">${estimate}</span> <span class="ci">${interval}</span>`;

/** The failed episodes of an arm, to stand beside its rate; empty if there are none. */
const failedOf = ({ failed }: Arm): string => (failed ? `; ${failedText(failed)}` : '');

/** pass^k of an arm; the oracle has none. */
const passedAll = ({ passedAll: rate }: Arm): Markup | string =>
  rate === undefined ? '–' : withInterval(percent(rate.estimate), percentRange(rate));

const gainOverBase = ({ kind, minusBase }: Arm): Markup | string =>
  kind === 'base' ? '–' : withInterval(points(minusBase.estimate), pointsRange(minusBase));

/** A heading with a part in small print. */
const headed = (heading: string, small: string): Markup => markup`${heading} <span class="ci">${small}</span>`;

/** An agent without any skill, which was played once on each task. */
function doNothingRow({ passRate, baseMinus }: NonNullable<Evaluation['doNothing']>, showsAll: boolean) {
  const minusBase = { low: -baseMinus.high, high: -baseMinus.low };
  return [
    'An agent that does nothing',
    withInterval(percent(passRate.estimate), percentRange(passRate)),
    ...(showsAll ? ['–'] : []),
    withInterval(points(-baseMinus.estimate), pointsRange(minusBase)),
  ];
}

function keyTable(report: Report, evaluation: Evaluation): Markup {
  const level = percent(evaluation.confidence, 0);
  // With one trial it equals the pass rate.
  const { allOf = evaluation.trials } = evaluation;
  const showsAll = allOf > 1 && evaluation.base.passedAll !== undefined;
  const arms = keyArms(report, evaluation);
  return dataTable(
    {
      head: [
        'Arm',
        headed('Passed', `${level} interval`),
        ...(showsAll ? [headed(`Passed in all ${count(allOf)} trials`, `pass^${count(allOf)}`)] : []),
        headed('Minus base, paired', `points, ${level} interval`),
      ],
      rows: [
        ...arms.map(({ name, arm }) => [
          name,
          withInterval(percent(arm.passRate.estimate), `${percentRange(arm.passRate)}${failedOf(arm)}`),
          ...(showsAll ? [passedAll(arm)] : []),
          gainOverBase(arm),
        ]),
        ...(evaluation.doNothing ? [doNothingRow(evaluation.doNothing, showsAll)] : []),
      ],
    },
    { name: 'pass rates of all arms', look: 'key', marked: arms.findIndex(({ arm }) => arm.kind === 'routed') },
  );
}

function forest(report: Report, evaluation: Evaluation, source: ArtifactRef): Markup {
  const { base, adapters, mixed, incumbent, routed, oracle, routedMinusBestSingle, routedMinusMixed } = evaluation;
  const row = (name: string, arm: Arm, look: ForestRow['look']) => ({
    name,
    rate: arm.passRate,
    episodes: arm.episodes,
    lost: failedOf(arm),
    look,
  });
  const rows = [
    row('Base model', base, 'base'),
    ...(incumbent ? [row(`Active version ${incumbent.version}`, incumbent.arm, 'other')] : []),
    ...adapters.map((arm) => row(adapterName(report, arm.name), arm, 'other')),
    ...(mixed ? [row('Environments mixed', mixed, 'other')] : []),
    row(isMixedAlone(evaluation.router.choice) ? 'Candidate: mixed' : 'Routed adapters', routed, 'routed'),
    row('Oracle', oracle, 'other'),
  ];
  const rivals = [
    `the best single adapter by ${points(routedMinusBestSingle.estimate)} points ` +
      `(${pointsRange(routedMinusBestSingle)})`,
  ];
  if (routedMinusMixed)
    rivals.push(`the mixed adapter by ${points(routedMinusMixed.estimate)} (${pointsRange(routedMinusMixed)})`);
  if (incumbent)
    rivals.push(
      `the active version by ${points(incumbent.routedMinus.estimate)} (${pointsRange(incumbent.routedMinus)})`,
    );
  const takeaway =
    `Every arm answered the same ${plural(evaluation.tasks, 'held-out task')}. ` +
    `${isMixedAlone(evaluation.router.choice) ? 'The candidate' : 'Routed'} differs from ${rivals.join(' and from ')}, ` +
    'paired over tasks.';
  return figure(report.runId, {
    id: 'arms',
    title: 'Held-out pass rate of every arm',
    takeaway,
    body: bothLayouts((layout) =>
      forestPlot(
        rows,
        layout,
        `Pass rates with intervals: ${rows.map((r) => `${r.name} ${percent(r.rate.estimate)}`).join('; ')}.`,
      ),
    ),
    data: {
      head: ['Arm', 'Passed', 'Interval', 'Episodes'],
      rows: rows.map((r) => [r.name, percent(r.rate.estimate), percentRange(r.rate), `${count(r.episodes)}${r.lost}`]),
    },
    sources: [source],
  });
}

/** The counts of the run's measurement of the active version, and of its collection from base. */
function played(report: Report): [string, string][] {
  const { collect, night } = report;
  if (readsConversations(report)) return [['Conversations', failingSentence(report)]];
  const live = collect.live > 0 ? ` and ${plural(collect.live, 'conversation')} of live traffic` : '';
  const lost = failedOfArms([
    ['base', night?.failed?.base],
    [`version ${night?.version}`, night?.failed?.served],
  ]);
  const measured: [string, string][] = night
    ? [
        [
          'Measured',
          `${plural(night.cost.rollouts, 'rollout')}: base and version ${night.version} on ` +
            `${plural(night.tasks, 'train task')} (1 trial each)` +
            (lost === '' ? '' : `; without a result ${lost}`) +
            (night.live ? `; identified with ${plural(night.live, 'conversation')} that the version answered` : ''),
        ],
      ]
    : [];
  // A night that ended has not collected anything else.
  if (night && night.outcome !== 'goes-on') return measured;
  return [
    ...measured,
    [
      'Collected',
      `${plural(collect.episodes - collect.live, 'rollout')} of ${plural(collect.tasks, 'train task')} ` +
        `(${plural(collect.trials, 'trial')} each)${live}: ` +
        `${plural(collect.successes, 'success', 'successes')}, ${plural(collect.failures, 'failure')}` +
        (collect.withoutCalls === undefined
          ? ''
          : `; ${plural(collect.withoutCalls, 'success', 'successes')} without a call of a tool`) +
        (collect.notWhole === undefined ? '' : `; ${plural(collect.notWhole, 'rollout')} not whole`) +
        (collect.failed ? `; without a result ${failedText(collect.failed)}` : ''),
    ],
    ...keptTokens(collect.tokens),
  ];
}

/** What was kept of the tokens, where somebody asked for them. */
function keptTokens(tokens: Report['collect']['tokens']): [string, string][] {
  if (tokens === undefined) return [];
  const { episodes, lacking, refusal } = tokens;
  const lost = lacking > 0 ? `; ${plural(lacking, 'rollout')} cannot be trained on, since tokens are missing` : '';
  return [['Tokens', `kept of ${plural(episodes, 'rollout')}${lost}${refusal ? `. ${refusal}` : ''}`]];
}

/** One fact for each adapter for which `saying` returns something; empty if it returns nothing for all. */
function ofAdapters(
  { sharpened, mixed }: Report,
  term: string,
  saying: (adapter: NonNullable<Report['mixed']>) => string | undefined,
): [string, string][] {
  const adapters = [
    ...sharpened.map(({ capability: { name }, adapter }) => ({ name, adapter })),
    { name: 'Everything mixed', adapter: mixed },
  ];
  const known = adapters.flatMap(({ name, adapter }) => {
    const said = adapter ? saying(adapter) : undefined;
    return said === undefined ? [] : [`${name} (${said})`];
  });
  return known.length === 0 ? [] : [[term, known.join('; ')]];
}

const ofModel = ({ baseModel }: Report): [string, Markup][] => [
  ['Base model', markup`${baseModel.name} ${shortHash(baseModel.sha256)}`],
];

function facts(report: Report): Markup {
  const rows: [string, Markup | string][] = [
    ...(readsConversations(report) ? [] : ofModel(report)),
    ['Analyst', report.analyst],
    ...(readsConversations(report) ? [] : [['Sandbox', report.sandbox] satisfies [string, string]]),
    ...played(report),
    ...ofAdapters(report, 'Adapters of earlier runs', ({ reusedFrom }) => reusedFrom),
    ...ofAdapters(report, 'Training began from', ({ beginsFrom }) => beginsFrom && `version ${beginsFrom.version}`),
    ['Time', duration(report.stages.reduce((sum, stage) => sum + stage.seconds, 0))],
    ['Seed', String(report.seed)],
    ['Written', `${report.createdAt.slice(0, 16).replace('T', ' ')} UTC`],
  ];
  return markup`<dl class="facts">
    ${rows.map(
      ([term, value]) =>
        markup`<dt>${term}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}
