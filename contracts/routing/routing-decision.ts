/** How the router's answer is read: the same in evaluation and in live traffic. Pure. */
import { NONE_LABEL } from '../names';
import type { RoutingRecord } from '../artifacts/evaluation';
import type { RouterOption } from './router-prompt';

/** Alternatives asked for at the label's position: as many as OpenAI's API allows; a menu has at most 26 labels. */
export const ROUTER_TOP_LOGPROBS = 20;

/** What the base model answered to the router's prompt. */
export interface RouterAnswer {
  content: string | null;
  /** Log probabilities (nats) of the alternatives at the first position; empty where the endpoint gives none. */
  firstToken: readonly { token: string; logprob: number }[];
}

/**
 * How a version's router turns probabilities into a choice; fitted by the evaluation that the version was promoted on.
 */
export interface RouterCalibration {
  /** Divides the log probabilities; above 1 the router was too sure of itself. Default 1. */
  temperature: number;
  /** A best option below this calibrated probability abstains to the base model. Default 0. */
  threshold: number;
}

/** As measured, without calibration. */
export const UNCALIBRATED: RouterCalibration = { temperature: 1, threshold: 0 };

/**
 * Reads the router's answer: the probability of each label from the alternatives at the first position, renormalised
 * over the menu, and the share of the raw distribution that lay on the menu. Spellings of a label with white space
 * around it count as the label. Where the endpoint gives no alternatives, the answered label gets probability 1 and the
 * covered mass is 0, because it is unknown.
 */
export function routingDecision(seed: number, menu: readonly RouterOption[], answer: RouterAnswer): RoutingRecord {
  const mass = menu.map(({ label }) =>
    answer.firstToken
      .filter(({ token }) => token.trim() === label)
      .reduce((sum, { logprob }) => sum + Math.exp(logprob), 0),
  );
  const covered = mass.reduce((sum, share) => sum + share, 0);
  const answered = menu.findIndex(({ label }) => label === answer.content?.trim());
  const probabilities =
    covered > 0
      ? mass.map((share) => share / covered)
      : menu.map((_, index) => (index === (answered < 0 ? menu.length - 1 : answered) ? 1 : 0));
  const best = probabilities.indexOf(Math.max(...probabilities));
  return {
    seed,
    capabilityId: menu[best]?.capabilityId ?? NONE_LABEL,
    probabilities: probabilities.map(round),
    coveredMass: round(Math.min(1, covered)),
  };
}

/**
 * Probabilities sharpened or flattened by a temperature T: p_i^(1/T) / sum_j p_j^(1/T) (temperature scaling, Guo et al.
 * 2017, on log probabilities instead of logits, which differ by a constant). The order of the options stays as it is.
 */
export function calibrated(probabilities: readonly number[], temperature: number): number[] {
  if (temperature === 1) return [...probabilities];
  const powers = probabilities.map((p) => (p <= 0 ? 0 : p ** (1 / temperature)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return sum > 0 ? powers.map((p) => p / sum) : [...probabilities];
}

/** The choice after calibration: the best option, or `none` when its calibrated probability is below the threshold. */
export function calibratedChoice(
  record: Pick<RoutingRecord, 'capabilityId' | 'probabilities'>,
  { temperature, threshold }: RouterCalibration,
): { capabilityId: string; probability: number; abstained: boolean } {
  const probability = Math.max(...calibrated(record.probabilities, temperature));
  const abstained = record.capabilityId !== NONE_LABEL && probability < threshold;
  return { capabilityId: abstained ? NONE_LABEL : record.capabilityId, probability, abstained };
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;
