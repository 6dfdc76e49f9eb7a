import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { RouterChoice, Spending } from '../../../contracts/artifacts/router-choice';
import { spendingPlot } from '../../charts/spending';
import { bothLayouts } from '../../charts/svg';
import { count, percent, plural, points } from '../../html/format';
import type { Markup } from '../../html/markup';
import { figure } from '../figure';

const STEPS: Record<Spending['step'], string> = {
  'first-round': 'all kinds',
  'second-round': 'kinds that are close',
  harm: 'adapters that may do harm',
  'later-turns': 'switches at later turns',
  'several-needs': 'openings with several needs',
  single: "one capability's adapter for everything",
  mixed: 'the mixed adapter, alone and as an arm',
  finalists: 'finalists that are close',
  'tool-results': 'needs that tools show',
};

/** Share of the oracle's gain, if the oracle gains anything. */
const shareOf = ({ gain, oracleGain }: Spending): string => (oracleGain > 0 ? percent(gain / oracleGain, 0) : '–');

/** The gains of the best kind and of the oracle, against the number of rollouts on train tasks. */
export function spendingFigure(
  runId: string,
  spending: NonNullable<RouterChoice['spending']>,
  sources: ArtifactRef[],
): Markup {
  const [first, last] = [spending[0]!, spending.at(-1)!];
  const steps = spending.map(
    (step) => `${count(step.rollouts)} rollouts, best kind ${points(step.gain)}, oracle ${points(step.oracleGain)}`,
  );
  const begun = spending.length > 1 ? `, and ${shareOf(first)} after ${plural(first.rollouts, 'rollout')}` : '';
  return figure(runId, {
    id: 'router-spending',
    title: 'What the rollouts for routing bought',
    takeaway:
      `After ${plural(last.rollouts, 'rollout')} the best kind has ${shareOf(last)} of the oracle's gain on train ` +
      `tasks${begun}. The oracle takes the best arm of those that were played on a task, without the trial that it is ` +
      'scored on, and chooses once for each conversation: it is a lower bound, and switches can be ahead of it.',
    body: bothLayouts((layout) =>
      spendingPlot(
        spending,
        layout,
        `Gain over base of the best kind and of the oracle against rollouts: ${steps.join('; ')}.`,
      ),
    ),
    data: {
      head: ['Bought for', 'Rollouts', 'Best kind', 'Tasks', 'Against base', 'Standard error', 'Oracle', 'Share'],
      rows: spending.map((step) => [
        STEPS[step.step],
        count(step.rollouts),
        step.kind,
        count(step.tasks),
        points(step.gain),
        points(step.standardError),
        points(step.oracleGain),
        shareOf(step),
      ]),
    },
    sources,
  });
}
