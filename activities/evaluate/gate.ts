import type { Evaluation, Gate, Interval } from '../../contracts/artifacts/evaluation';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { pointsRangeWithUnit, pointsWithUnit } from '../html/format';

/**
 * Decides whether adapters may be promoted. Both conditions are about held-out tasks:
 *
 * - the gain: the lower end of the paired interval of routed minus base lies above `minGain`;
 * - the loss among tasks that base passed: it is not significant (its interval does not lie above zero), or not larger
 *   than `maxRegression`.
 */
export function decideGate(
  evaluation: Evaluation,
  { minGain, maxRegression }: Pick<AgentSpec['gate'], 'minGain' | 'maxRegression'>,
): Gate {
  const { routedMinusBase: gain, regression, confidence, tasks } = evaluation;
  const percent = `${Number((confidence * 100).toPrecision(4))} %`;
  const enough = gain.low > minGain;
  const gained =
    `Routed minus base on ${tasks} held-out tasks is ${pointsWithUnit(gain.estimate)} ` +
    `(${percent} interval ${pointsRangeWithUnit(gain)}): ` +
    `the lower end is ${enough ? 'above' : 'not above'} the required ${pointsWithUnit(minGain)}.`;

  const { loss, significant } = regression;
  const tooMuch = significant && loss.estimate > maxRegression;
  const lost =
    regression.tasks === 0
      ? 'Base passed no task in the majority of trials, so there is nothing that could be lost.'
      : `Among the ${regression.tasks} tasks that base passes in the majority of trials, ` +
        `routed ${describeLoss(loss)} (${percent} interval of the loss ${pointsRangeWithUnit(loss)}): ` +
        lossVerdict(significant, tooMuch, maxRegression);
  return { passed: enough && !tooMuch, reasons: [gained, lost] };
}

function describeLoss({ estimate }: Interval): string {
  const size = `${Math.abs(estimate * 100).toFixed(1)} points`;
  return estimate > 0 ? `loses ${size}` : estimate < 0 ? `gains ${size}` : 'loses nothing';
}

function lossVerdict(significant: boolean, tooMuch: boolean, maxRegression: number): string {
  const allowed = `${(maxRegression * 100).toFixed(1)} points`;
  if (!significant) return 'no significant loss.';
  return tooMuch
    ? `a significant loss, larger than the ${allowed} allowed.`
    : `a significant loss, but within the ${allowed} allowed.`;
}
