import { NONE_LABEL, type RouterOption, type RoutingRecord } from '../../contracts';
import type { ChatAnswer } from '../rollout';

/**
 * Reads the router's answer: the probability of each label from the alternatives at the first position, renormalised over the menu,
 * and the share of the raw distribution that lay on the menu. Spellings of a label with white space around it count as the label.
 * Where the endpoint gives no alternatives, the answered label gets probability 1 and the covered mass is 0, because it is unknown.
 */
export function routingDecision(seed: number, menu: readonly RouterOption[], answer: Pick<ChatAnswer, 'content' | 'firstToken'>): RoutingRecord {
  const mass = menu.map(({ label }) =>
    answer.firstToken.filter(({ token }) => token.trim() === label).reduce((sum, { logprob }) => sum + Math.exp(logprob), 0),
  );
  const covered = mass.reduce((sum, share) => sum + share, 0);
  const answered = menu.findIndex(({ label }) => label === answer.content?.trim());
  const probabilities =
    covered > 0 ? mass.map((share) => share / covered) : menu.map((_, index) => (index === (answered < 0 ? menu.length - 1 : answered) ? 1 : 0));
  const best = probabilities.indexOf(Math.max(...probabilities));
  return {
    seed,
    capabilityId: menu[best]?.capabilityId ?? NONE_LABEL,
    probabilities: probabilities.map(round),
    coveredMass: round(Math.min(1, covered)),
  };
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;
