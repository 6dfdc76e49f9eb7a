import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { Evaluation } from '../../../contracts/artifacts/evaluation';
import type { Report } from '../../../contracts/artifacts/report';
import { MIXED, NONE_LABEL } from '../../../contracts/names';
import { heatMap, MOST_NAMED } from '../../charts/heat-map';
import { changePlot } from '../../charts/intervals';
import { bothLayouts } from '../../charts/svg';
import { count, percent, plural, points, pointsRange } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import type { ReportDocument } from '../report-document';
import { figure } from '../figure';
import { routerQuality } from './router-quality';
import { KINDS } from '../../../routing/kinds';

/** Base against routed by kind of task, and how the router chose. */
export function evaluationSection({ report, sources }: ReportDocument): Markup | null {
  const { evaluation } = report;
  if (!evaluation || !sources.evaluation) return null;
  const routing = [sources.evaluation, ...(sources.routing ? [sources.routing] : [])];
  return markup`<h2 id="evaluation">Held-out tasks in detail</h2>
    ${
      evaluation.byTag.length > 0
        ? kindsFigure(report.runId, evaluation, sources.evaluation)
        : markup`<p>The environment gives its tasks no tags, so pass rates cannot be split by kind of task.</p>`
    }
    <p>${regressionSentence(evaluation)}</p>
    ${routerFigure(report, evaluation, routing)}
    ${routerQuality(report, evaluation, routing)}`;
}

const kindName = (kind: string) =>
  kind === 'several'
    ? 'several needs at once'
    : kind === 'none'
      ? 'no particular need'
      : kind === 'untagged'
        ? 'all tasks'
        : kind;

function kindsFigure(runId: string, { byTag, confidence }: Evaluation, source: ArtifactRef): Markup {
  const better = byTag.filter((row) => row.minusBase.low > 0).length;
  const worse = byTag.filter((row) => row.minusBase.high < 0).length;
  const rows = byTag.map(({ tag, tasks, base, routed, minusBase }) => ({
    name: `${kindName(tag)} (${count(tasks)})`,
    base,
    routed,
    note: `${points(minusBase.estimate)} (${pointsRange(minusBase)})`,
    shortNote: points(minusBase.estimate),
  }));
  const changes = rows.map((r) => `${r.name} from ${percent(r.base)} to ${percent(r.routed)}`);
  return figure(runId, {
    id: 'kinds',
    title: 'Base against routed by what a task needs',
    takeaway:
      "Tasks are grouped by the environment's tags (number of tasks in brackets); the groups do not overlap. " +
      `Routed is better in ${better} of ${byTag.length} groups and worse in ${worse}, ` +
      `counting those whose ${percent(confidence, 0)} interval excludes zero. Differences are in points.`,
    body: bothLayouts((layout) => changePlot(rows, layout, `Pass rates of base and routed: ${changes.join('; ')}.`)),
    data: {
      head: ['Tasks that need', 'Tasks', 'Base', 'Routed', 'Difference', 'Interval'],
      rows: byTag.map((row) => [
        kindName(row.tag),
        count(row.tasks),
        percent(row.base),
        percent(row.routed),
        points(row.minusBase.estimate),
        pointsRange(row.minusBase),
      ]),
    },
    sources: [source],
  });
}

function regressionSentence({ regression, trials }: Evaluation): string {
  if (regression.tasks === 0) return 'Base passed no task in at least half of its trials, so nothing could be lost.';
  const { loss, tasks, significant } = regression;
  const how =
    trials > 1
      ? `A trial counts when base passed ${trials === 2 ? 'the other trial' : 'the majority of the other trials'} of ` +
        'its task; comparing on the trials that select would count falling back from a lucky pass as a loss.'
      : 'With one trial per task, selection and comparison share it, which overstates the loss of an agent that ' +
        'samples.';
  const interval = pointsRange({ low: -loss.high, high: -loss.low });
  return (
    `Among the ${plural(tasks, 'task')} that base passes in at least half of its trials, ` +
    `routed minus base is ${points(-loss.estimate)} points (interval ${interval}): ` +
    `${significant ? 'a significant loss' : 'no significant loss'}. ${how}`
  );
}

function routerFigure(report: Report, { router }: Evaluation, sources: ArtifactRef[]): Markup {
  const name = (id: string) =>
    id === NONE_LABEL ? 'none: base model' : (report.identification.candidates.find((c) => c.id === id)?.name ?? id);
  const usesMixed = router.confusion.some(({ chosen }) => chosen === MIXED);
  const columns = [
    ...router.labels.map(({ label, capabilityId }) => ({ name: name(capabilityId), short: label, id: capabilityId })),
    ...(usesMixed ? [{ name: 'adapter of all environments mixed', short: 'mix', id: MIXED }] : []),
  ];
  const order = [...report.evaluation!.byTag.map((row) => row.tag), 'untagged'];
  const kinds = [...new Set(router.confusion.map((cell) => cell.truth))].sort(
    (a, b) => order.indexOf(a) - order.indexOf(b),
  );
  const tasks = kinds.map((kind) =>
    columns.map(
      (column) => router.confusion.find((cell) => cell.truth === kind && cell.chosen === column.id)?.tasks ?? 0,
    ),
  );
  const expected = kinds.map((kind) => {
    const id = router.expected.find((e) => e.tag === kind)?.capabilityId;
    return id === undefined ? null : columns.findIndex((column) => column.id === id);
  });
  const accuracy =
    router.accuracy === null ? '' : `It was right for ${percent(router.accuracy)} of the tasks with at most one need. `;
  const mass = router.meanCoveredMass;
  const map = { rows: kinds.map(kindName), columns, tasks, expected, columnTitle: 'chosen by the router' };
  return figure(report.runId, {
    id: 'router',
    title: 'Where the router sent the tasks',
    takeaway:
      `${KINDS[router.choice.chosen].words.report} ${accuracy}Framed cells are the right choice: ` +
      "the adapter that raises this kind's pass rate most when it answers alone, " +
      'or none where no adapter raises it significantly. ' +
      (usesMixed ? 'The mixed adapter counts as wrong, however well it does. ' : '') +
      (mass === null ? '' : `On average ${percent(mass)} of the model's probability lay on the menu's letters.`),
    body: markup`${bothLayouts((layout) => heatMap(map, layout, heatDescription(kinds, columns, tasks)))}
      <ul class="legend${columns.length <= MOST_NAMED && ' only-narrow'}">
        ${columns.map((column) => markup`<li><strong>${column.short}</strong> ${column.name}</li>`)}
      </ul>`,
    data: {
      head: ['Tasks that need', ...columns.map((c) => c.name)],
      rows: kinds.map((kind, r) => [kindName(kind), ...(tasks[r] as number[]).map(count)]),
    },
    sources,
  });
}

function heatDescription(
  kinds: readonly string[],
  columns: readonly { name: string }[],
  tasks: readonly (readonly number[])[],
): string {
  const rows = kinds.map((kind, r) => {
    const cells = columns.flatMap((c, i) => (tasks[r]?.[i] ? [`${tasks[r][i]} to ${c.name}`] : []));
    return `${kindName(kind)}: ${cells.join(', ')}`;
  });
  return `Heat map of the router's choices. ${rows.join('; ')}.`;
}
