import { failedText } from '../../../contracts/failed-episodes';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { Evaluation } from '../../../contracts/artifacts/evaluation';
import type { Report } from '../../../contracts/artifacts/report';
import { isMixedAlone, type RouterChoice } from '../../../contracts/artifacts/router-choice';
import { pointsText } from '../../../contracts/share-text';
import { reliabilityPlot } from '../../charts/reliability';
import { bothLayouts } from '../../charts/svg';
import { count, percent, plural, points, typeset } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import { wilson } from '../../statistics/intervals';
import { figure } from '../figure';
import { spendingFigure } from './router-spending';

/** The possible gain from better routing, how the router was chosen, and the reliability of its probabilities. */
export function routerQuality(report: Report, evaluation: Evaluation, sources: ArtifactRef[]): Markup {
  const { choice } = evaluation.router;
  return markup`${regretTable(evaluation)}
    ${competitionTable(choice)}
    ${choice.spending && spendingFigure(report.runId, choice.spending, sources)}
    ${choice.reliability && reliabilityFigure(report.runId, choice.reliability, sources)}`;
}

function regretTable({ base, bestSingle, mixed, routed, oracle }: Evaluation): Markup {
  const best = oracle.passRate.estimate;
  const gain = best - base.passRate.estimate;
  const arms = [
    { name: 'Base model', arm: base },
    { name: 'Best single adapter', arm: bestSingle },
    ...(mixed === undefined ? [] : [{ name: 'Environments mixed', arm: mixed }]),
    { name: 'Routed adapters', arm: routed },
    { name: 'Oracle', arm: oracle },
  ];
  const share = (rate: number) => (gain > 0 ? percent((rate - base.passRate.estimate) / gain, 0) : '–');
  const reached =
    gain > 0
      ? `Routed has ${share(routed.passRate.estimate)} of what the oracle gains over base.`
      : 'The oracle gains nothing over base, so there is nothing to route for.';
  return markup`<h3 id="regret">What better routing could still gain</h3>
    <p>
      ${typeset(
        `Regret is the oracle's pass rate minus the arm's, in points. ${reached} ` +
          "The oracle's rate is a lower bound, so an arm can be ahead of it.",
      )}
    </p>
    ${dataTable({
      head: ['Arm', 'Passed', 'Regret', "Share of the oracle's gain"],
      rows: arms.map(({ name, arm: { passRate } }) => [
        name,
        percent(passRate.estimate),
        points(best - passRate.estimate),
        share(passRate.estimate),
      ]),
    })}`;
}

/** The result of the comparison of switching with staying. Empty if there was no comparison. */
function laterTurnsSentence({ laterTurns }: RouterChoice): string {
  if (laterTurns === undefined) return '';
  const { reads, tasks, rollouts, gain, standardError, leftOut, adopted, twoNeeds } = laterTurns;
  const said = reads === 'user' ? 'turn of the user' : 'turn of the user or result of a tool';
  const begins = twoNeeds?.adopted ? 'what the opening asks for first, or ' : '';
  const without = leftOut.length === 0 ? '' : ` Nothing moves to ${leftOut.join(', ')}, which lost tasks by it.`;
  return (
    ` In ${plural(tasks, 'compared train task')} ${begins}a later ${said} calls for another adapter. Moving the ` +
    `conversation there is ${points(gain)} against staying (standard error ${points(standardError)}, ` +
    `${plural(rollouts, 'rollout')}), so conversations ${adopted ? 'move' : 'stay where they began'}.${without}${twoNeedsSentence(twoNeeds)}`
  );
}

/** The result of following the needs that tools show. Empty if it was not compared. */
function toolResultsSentence({ toolResults }: RouterChoice): string {
  if (toolResults === undefined) return '';
  const { tasks, rollouts, gain, standardError, leftOut, adopted } = toolResults;
  const without = leftOut.length === 0 ? '' : ` Nothing moves to ${leftOut.join(', ')}, which lost tasks by it.`;
  return (
    ` In ${plural(tasks, 'compared train task')} the result of a tool shows the need of another adapter. Following it is ` +
    `${points(gain)} against keeping the adapter (standard error ${points(standardError)}, ` +
    `${plural(rollouts, 'rollout')}), so conversations ${adopted ? 'follow it' : 'keep their adapter'}.${without}`
  );
}

/** The result of beginning with the first of two needs. Empty if no train task shows it. */
function twoNeedsSentence(twoNeeds: (RouterChoice['laterTurns'] & object)['twoNeeds']): string {
  if (twoNeeds === undefined) return '';
  const { tasks, gain, adopted } = twoNeeds;
  return (
    ` In ${plural(tasks, 'train task')} the opening asks for two things, and the router's choice is not the first: ` +
    `beginning with the first is ${points(gain)} there, so conversations ` +
    (adopted ? 'begin with what is asked for first.' : "begin with the router's choice.")
  );
}

/** The result of the mixed adapter on openings with several needs. Empty if no train task has such an opening. */
function severalNeedsSentence({ severalNeeds }: RouterChoice): string {
  if (severalNeeds === undefined) return '';
  const { tasks, gain, standardError, adopted } = severalNeeds;
  return (
    ` In ${plural(tasks, 'train task')} the opening calls for several capabilities: the mixed adapter is ${points(gain)} ` +
    `against the router there (standard error ${points(standardError)}), so ` +
    (adopted ? 'it gets such openings.' : 'the router keeps them.')
  );
}

/** Why an adapter is left out. */
function leftOutSentence({ capabilityId, tasks, gain, reason, alone }: RouterChoice['adapters'][number]): string {
  const given = `on ${plural(tasks, 'task')} that it was given, ${points(gain)} against base`;
  const all =
    reason === 'alone' && alone ? `, and ${points(alone.gain)} on all ${count(alone.tasks)} that it was played on` : '';
  return `${capabilityId} is left out: ${given}${all}.`;
}

/** The possible loss of the chosen router where it uses adapters. Empty if it uses no adapter. */
function harmSentence({ harm }: RouterChoice): string {
  if (harm === undefined) return '';
  const { tasks, loss, bound, margin, above, bought } = harm;
  const most = bound > 0 ? `may lose at most ${pointsText(bound)} there` : `gains at least ${pointsText(-bound)} there`;
  const more = bought > 0 ? ` ${plural(bought, 'rollout')} more went to adapters that were above it.` : '';
  return (
    ` Where it uses adapters it is ${points(-loss)} against base on ${plural(tasks, 'played task')} and ${most} ` +
    `(one-sided 95 % bound), ` +
    (above
      ? `above the margin of ${pointsText(margin)}: harm cannot be excluded, and the held-out tasks have to tell.`
      : `within the margin of ${pointsText(margin)}.`) +
    more
  );
}

/** Why the mixed adapter could not be chosen although it may be better. Empty if it could be chosen. */
function mixedHarmSentence({ mixedOnBaseTasks }: RouterChoice): string {
  if (!mixedOnBaseTasks?.harms) return '';
  const { tasks, gain, standardError } = mixedOnBaseTasks;
  return (
    `It is not chosen over a router: on ${plural(tasks, 'task')} that the router leaves to base it is ` +
    `${points(gain)} against base (standard error ${points(standardError)}). `
  );
}

function competitionTable(choice: RouterChoice): Markup {
  const { chosen, pinned, trainTasks, compared, rollouts, failed, budget, competitors, adapters } = choice;
  const why = pinned
    ? `agent.yaml names the router ${chosen}.`
    : `${isMixedAlone(choice) ? 'The mixed adapter alone' : `The router ${chosen}`} was chosen: ` +
      'the simplest within one standard error of the best.';
  const left = adapters.filter(({ leftOut }) => leftOut);
  const { comparedMixed } = choice;
  const mixedToo =
    comparedMixed === undefined
      ? ''
      : `The mixed adapter alone was compared with the best router on ${plural(comparedMixed, 'task')}. ` +
        mixedHarmSentence(choice);
  return markup`<h3 id="routers">How the router was chosen</h3>
    <p>
      ${typeset(
        `${why} The kinds were compared on ${count(compared)} of ${plural(trainTasks, 'train task')}, with ` +
          `${plural(rollouts, 'rollout')} (at most ${count(budget)}) where their decisions differ` +
          `${failed === undefined ? '' : `; without a result ${failedText(failed)}`}. ` +
          `Each decided on tasks that it had not learned from. ${mixedToo}${left.map(leftOutSentence).join(' ')}${harmSentence(choice)}${severalNeedsSentence(choice)}${laterTurnsSentence(choice)}${toolResultsSentence(choice)}`,
      )}
    </p>
    ${dataTable({
      head: ['Router', 'Against base', 'Standard error', 'Behind the best', 'Standard error', 'To adapters'],
      rows: competitors.map((kind) => [
        `${kind.kind}${kind.kind === chosen ? ' (chosen)' : kind.left ? ' (fell behind)' : ''}`,
        points(kind.gain),
        points(kind.standardError),
        points(kind.behind),
        points(kind.behindError),
        percent(kind.routed, 0),
      ]),
    })}`;
}

function reliabilityFigure(
  runId: string,
  { tasks, right, error, steps: bins }: NonNullable<RouterChoice['reliability']>,
  sources: ArtifactRef[],
): Markup {
  const steps = bins.map((step) => ({ ...step, ...wilson(step.right, step.tasks), stated: step.meanProbability }));
  const stated = steps.map(
    (s) => `stated ${percent(s.stated)}, right ${percent(s.right)} of ${plural(s.tasks, 'task')}`,
  );
  return figure(runId, {
    id: 'reliability',
    title: "Whether the router's probabilities can be trusted",
    takeaway:
      `${percent(right)} of ${plural(tasks, 'train task')} went where their labels say. ` +
      `The calibration error is ${percent(error)}.`,
    body: bothLayouts((layout) => reliabilityPlot(steps, layout, `Reliability diagram: ${stated.join('; ')}.`)),
    data: {
      head: ['Probability', 'Tasks', 'Stated', 'Right', 'Interval'],
      rows: steps.map((s) => [
        `${percent(s.from, 0)} to ${percent(s.to, 0)}`,
        count(s.tasks),
        percent(s.stated),
        percent(s.right),
        `${percent(s.low)} – ${percent(s.high)}`,
      ]),
    },
    sources,
  });
}
