import { createHash } from 'node:crypto';
import type { RouterSettings } from '../../../contracts/config/gateway-config';
import { NONE_LABEL } from '../../../contracts/names';
import { routerMenu } from '../../../contracts/routing/router-prompt';
import { calibrated, UNCALIBRATED } from '../../../contracts/routing/routing-decision';
import type { ReplicaSet } from '../../upstream/replica-set';
import { askBaseModel } from '../ask-base-model';
import { menuOf, readLabels } from './logits';
import type { Router } from '../router';

/**
 * Weights are multiples of this: model servers hold merged adapters, and there must not be one for every conversation.
 */
const STEP = 0.25;

/** An adapter's share in a merge. */
export interface Part {
  adapter: string;
  weight: number;
}

/**
 * The paper's variant: the smallest set of capabilities whose probabilities reach `topP` together, their adapters
 * merged by weight. Where one capability, or base, has nearly all the probability, it is the router `logits`.
 */
export function mixtureRouter(settings: RouterSettings, replicas: ReplicaSet, baseModel: string): Router {
  return {
    async route(question, signal) {
      const menu = menuOf(question);
      const record = await askBaseModel(replicas, baseModel, menu, question, signal);
      const answer = readLabels(record, question, settings);
      if (answer.capabilityId === NONE_LABEL) return answer;
      const { temperature } = question.version.router ?? UNCALIBRATED;
      const shares = routerMenu(menu).map(({ capabilityId }, i) => ({
        capabilityId,
        share: calibrated(record.probabilities, temperature)[i] as number,
      }));
      const parts = quantised(topSet(shares, settings.topP)).flatMap(({ capabilityId, weight }) => {
        const adapter = question.version.adapters.find((candidate) => candidate.capabilityId === capabilityId)?.name;
        return adapter === undefined ? [] : [{ adapter, weight }];
      });
      return parts.length < 2 ? answer : { ...answer, reason: 'mixed', mixture: parts };
    },
  };
}

interface Share {
  capabilityId: string;
  share: number;
}

/** The smallest set with at least `topP` of the probability; `none` is no adapter and stays out of the merge. */
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
 * Shares as multiples of the step that sum to 1 (largest remainders); options that come out with nothing are left out.
 */
export function quantised(shares: readonly Share[]): { capabilityId: string; weight: number }[] {
  const total = shares.reduce((sum, { share }) => sum + share, 0);
  const steps = Math.round(1 / STEP);
  const exact = shares.map(({ capabilityId, share }) => ({ capabilityId, exact: (share / total) * steps }));
  const rows = exact.map((row) => ({ ...row, whole: Math.floor(row.exact) }));
  let left = steps - rows.reduce((sum, { whole }) => sum + whole, 0);
  for (const row of [...rows].sort((a, b) => b.exact - b.whole - (a.exact - a.whole))) if (left-- > 0) row.whole += 1;
  return rows
    .filter(({ whole }) => whole > 0)
    .map(({ capabilityId, whole }) => ({ capabilityId, weight: whole * STEP }));
}

/** Immutable name of a merge: the same parts make the same name at every gateway. */
export function mixtureName(parts: readonly Part[]): string {
  const text = parts.map(({ adapter, weight }) => `${adapter}:${weight}`).sort();
  return `mix@${createHash('sha256').update(text.join('\n')).digest('hex').slice(0, 12)}`;
}
