import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import { NONE_LABEL } from '../../../contracts/names';
import { KINDS } from '../../../routing/kinds';
import { mean } from '../../statistics/mean';
import type { ArmChoice } from '../../../routing/kind';

/** Number of bins of the reliability diagram. */
const BINS = 10;

/**
 * The reliability of a router's probabilities, judged by the needs according to each task's labels. The choices must
 * come from routers that were fitted without their tasks.
 */
export function routerReliability(
  { kind, choices }: { kind: RouterChoice['chosen']; choices: readonly ArmChoice[] },
  tasks: readonly { needs: readonly string[] }[],
): Pick<RouterChoice, 'reliability'> {
  if (!KINDS[kind].saysNeeds) return {};
  const rows = choices.map(({ capabilityId, probability }, place) => {
    const needs = tasks[place]!.needs;
    return { probability, right: (needs.length === 0 ? [NONE_LABEL] : needs).includes(capabilityId) ? 1 : 0 };
  });
  const steps = Array.from({ length: BINS }, (_, bin) => {
    const inside = rows.filter(({ probability }) => Math.min(BINS - 1, Math.floor(probability * BINS)) === bin);
    return {
      from: bin / BINS,
      to: (bin + 1) / BINS,
      tasks: inside.length,
      meanProbability: inside.length === 0 ? 0 : mean(inside.map(({ probability }) => probability)),
      right: inside.length === 0 ? 0 : mean(inside.map(({ right }) => right)),
    };
  }).filter((step) => step.tasks > 0);
  const distance = (step: (typeof steps)[number]) => Math.abs(step.meanProbability - step.right);
  return {
    reliability: {
      tasks: rows.length,
      right: rows.length === 0 ? 0 : mean(rows.map(({ right }) => right)),
      error: steps.reduce((sum, step) => sum + (step.tasks / rows.length) * distance(step), 0),
      steps,
    },
  };
}
