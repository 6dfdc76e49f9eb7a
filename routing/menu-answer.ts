/** Reads the router's answer, in evaluation and in live traffic. */
import { NONE_LABEL } from '../contracts/names';
import type { RoutingRecord } from '../contracts/artifacts/evaluation';
import type { RouterOption } from './router-prompt';

/**
 * Number of alternatives to request at the label's position: OpenAI's API allows at most this many. A menu has at most
 * 26 labels.
 */
export const ROUTER_TOP_LOGPROBS = 20;

/**
 * A log-probability below this means that a token was ruled out, not that it is unlikely: vLLM writes -9999 for every
 * token that `structured_outputs` does not allow, and renormalises the others before it answers.
 */
const RULED_OUT = -1000;

/** The base model's answer to the router's prompt. */
export interface RouterAnswer {
  content: string | null;
  /** Log-probabilities (nats) of the alternatives at the first position; empty if the endpoint gives none. */
  firstToken: readonly { token: string; logprob: number }[];
}

/**
 * How a version's router turns probabilities into a choice. It is fitted by the evaluation with which the version was
 * promoted.
 */
export interface RouterCalibration {
  /** Divides the log-probabilities. It is above 1 if the router was overconfident. Default 1. */
  temperature: number;
  /** If the best option has less calibrated probability than this, the base model gets the task. Default 0. */
  threshold: number;
}

/**
 * Reads the router's answer to the task with this seed. The probability of each label is taken from the alternatives at
 * the first position and renormalised over the menu; `coveredMass` is their sum before that. A label with surrounding
 * white space counts as the label. If the endpoint gives no alternatives, the answered label gets probability 1.
 * `coveredMass` is then 0, because it is unknown. If the endpoint itself has ruled out all other tokens, their
 * probability is unknown, and `coveredMass` is null.
 */
export function routingDecision(seed: number, menu: readonly RouterOption[], answer: RouterAnswer): RoutingRecord {
  const mass = menu.map(({ label }) =>
    answer.firstToken
      .filter(({ token }) => token.trim() === label)
      .reduce((sum, { logprob }) => sum + Math.exp(logprob), 0),
  );
  const isRenormalised = answer.firstToken.some(({ logprob }) => logprob < RULED_OUT);
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
    coveredMass: isRenormalised ? null : round(Math.min(1, covered)),
  };
}

/**
 * Probabilities after temperature scaling: p_i^(1/T) / sum_j p_j^(1/T) (Guo et al. 2017). Log-probabilities replace the
 * logits, from which they differ by a constant. The order of the options stays the same.
 */
export function calibrated(probabilities: readonly number[], temperature: number): number[] {
  if (temperature === 1) return [...probabilities];
  const powers = probabilities.map((p) => (p <= 0 ? 0 : p ** (1 / temperature)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return sum > 0 ? powers.map((p) => p / sum) : [...probabilities];
}

/** The choice after calibration: the best option, or `none` if its calibrated probability is below the threshold. */
export function calibratedChoice(
  record: Pick<RoutingRecord, 'capabilityId' | 'probabilities'>,
  { temperature, threshold }: RouterCalibration,
): { capabilityId: string; probability: number; abstained: boolean } {
  const probability = Math.max(...calibrated(record.probabilities, temperature));
  const abstained = record.capabilityId !== NONE_LABEL && probability < threshold;
  return { capabilityId: abstained ? NONE_LABEL : record.capabilityId, probability, abstained };
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;
