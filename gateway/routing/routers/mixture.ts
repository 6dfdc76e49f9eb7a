import type { RouterSettingsOf } from '../../../contracts/config/router-settings';
import { NONE_LABEL } from '../../../contracts/names';
import { routerMenu } from '../../../contracts/routing/router-prompt';
import { calibrated, UNCALIBRATED } from '../../../contracts/routing/routing-decision';
import { askBaseModel } from '../ask-base-model';
import { capabilitiesOf, chooseByLabels } from '../label-choice';
import type { Router, RouterDeps } from '../router';

/**
 * Weights are multiples of this. Each combination of weights is a merged adapter at the model servers, so there must be
 * few of them.
 */
const WEIGHT_STEP = 0.25;

/**
 * The paper's variant for tasks that need several capabilities: it takes the smallest set whose probabilities reach
 * `topP` together, and has their adapters merged by weight. Where that set is a single capability, or `none` is the
 * likeliest, it answers as the router `logits` does.
 */
export function mixtureRouter({ minCoveredMass, topP }: RouterSettingsOf<'mixture'>, deps: RouterDeps): Router {
  return {
    async route(question, signal) {
      const { version } = question;
      const capabilities = capabilitiesOf(version);
      const record = await askBaseModel(deps, capabilities, question, signal);
      const answer = chooseByLabels(record, version, minCoveredMass);
      if (answer.capabilityId === NONE_LABEL) return answer;
      const { temperature } = version.router ?? UNCALIBRATED;
      const shares = routerMenu(capabilities).map(({ capabilityId }, i) => ({
        capabilityId,
        share: calibrated(record.probabilities, temperature)[i] as number,
      }));
      const merge = quantised(topSet(shares, topP)).flatMap(({ capabilityId, weight }) => {
        const adapter = version.adapters.find((candidate) => candidate.capabilityId === capabilityId)?.name;
        return adapter === undefined ? [] : [{ adapter, weight }];
      });
      return merge.length < 2 ? answer : { ...answer, reason: 'mixed', merge };
    },
  };
}

/** A capability's share of the probability. */
interface Share {
  capabilityId: string;
  share: number;
}

/** The smallest set with at least `topP` of the probability, the likeliest first, without `none`. */
export function topSet(shares: readonly Share[], topP: number): Share[] {
  const chosen: Share[] = [];
  let sum = 0;
  for (const option of [...shares].sort((a, b) => b.share - a.share)) {
    if (sum >= topP) break;
    sum += option.share;
    chosen.push(option);
  }
  return chosen.filter(({ capabilityId }) => capabilityId !== NONE_LABEL);
}

/**
 * Weights in multiples of the step that sum to 1, by the largest-remainder method. Capabilities whose weight is 0 are
 * left out.
 */
export function quantised(shares: readonly Share[]): { capabilityId: string; weight: number }[] {
  const total = shares.reduce((sum, { share }) => sum + share, 0);
  const steps = Math.round(1 / WEIGHT_STEP);
  const exact = shares.map(({ capabilityId, share }) => ({ capabilityId, exact: (share / total) * steps }));
  const rows = exact.map((row) => ({ ...row, whole: Math.floor(row.exact) }));
  let left = steps - rows.reduce((sum, { whole }) => sum + whole, 0);
  for (const row of [...rows].sort((a, b) => b.exact - b.whole - (a.exact - a.whole))) if (left-- > 0) row.whole += 1;
  return rows
    .filter(({ whole }) => whole > 0)
    .map(({ capabilityId, whole }) => ({ capabilityId, weight: whole * WEIGHT_STEP }));
}
