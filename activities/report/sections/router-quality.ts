import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { Evaluation } from '../../../contracts/artifacts/evaluation';
import type { Report } from '../../../contracts/artifacts/report';
import { reliabilityPlot } from '../../charts/reliability';
import { bothLayouts } from '../../charts/svg';
import { count, percent, plural, points, typeset } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { dataTable } from '../../html/table';
import { wilson } from '../../statistics/intervals';
import { figure } from '../figure';

type Calibration = NonNullable<Evaluation['router']['calibration']>;

const TOO_FEW_TASKS = markup`<p>
      Too few tasks have one right choice to say how far the router's probabilities can be trusted.
    </p>`;

/** What better routing could still gain, and how far the router's probabilities can be trusted. */
export function routerQuality(report: Report, evaluation: Evaluation, sources: ArtifactRef[]): Markup {
  const { calibration } = evaluation.router;
  return markup`${regretTable(evaluation)}
    ${calibration === undefined ? TOO_FEW_TASKS : reliabilityFigure(report.runId, calibration, sources)}`;
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

function reliabilityFigure(runId: string, calibration: Calibration, sources: ArtifactRef[]): Markup {
  const { temperature, threshold, errorBefore, errorAfter, fittedOn, measuredOn, reliability } = calibration;
  const steps = reliability.map((step) => ({
    ...step,
    ...wilson(step.right, step.tasks),
    stated: step.meanProbability,
  }));
  const stated = steps.map(
    (s) => `stated ${percent(s.stated)}, right ${percent(s.right)} of ${plural(s.tasks, 'task')}`,
  );
  const abstains =
    threshold > 0
      ? `Below ${percent(threshold, 0)} the gateway leaves a conversation to the base model.`
      : 'The gateway never abstains: no threshold paid.';
  return figure(runId, {
    id: 'reliability',
    title: "Whether the router's probabilities can be trusted",
    takeaway:
      `Calibration error ${percent(errorBefore)} as it came, ${percent(errorAfter)} after a temperature of ` +
      `${temperature.toFixed(2)}, fitted on ${plural(fittedOn, 'task')} and measured on ${count(measuredOn)} others. ` +
      abstains,
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
