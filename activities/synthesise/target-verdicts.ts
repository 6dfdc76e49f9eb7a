import { FEWEST_KNOWN } from '../environment-checks/checks/judged-alike';
import type { Judgement, ShownChange } from '../environment-checks/judged-variations';

/** Largest number of shown changes; the most frequently tried come first. */
const MOST_CHANGES = 120;

/**
 * The verdicts of the agent's own environment on its solutions with one change each. A line for each change says
 * whether it is accepted, and what the answer to the changed call is. The checks judge a new environment by the same
 * changes, for each part of a solution separately.
 */
export function verdictLines({ byChange }: Pick<Judgement, 'byChange'>): string[] {
  return byChange
    .filter(({ tried }) => tried >= FEWEST_KNOWN)
    .sort((a, b) => b.tried - a.tried)
    .slice(0, MOST_CHANGES)
    .map((change) => `- ${change.about}: ${verdict(change)}${answers(change)}`);
}

function verdict({ tried, succeeded }: ShownChange): string {
  if (succeeded === tried) return `accepted (${tried} of ${tried})`;
  return succeeded === 0 ? `refused (${tried} of ${tried})` : `accepted in ${succeeded} of ${tried}`;
}

function answers({ answers: given }: ShownChange): string {
  if (given.length === 0) return '';
  const kinds = given.map(({ count, example }) => `${JSON.stringify(example)} (${count})`);
  return `; the call is answered ${kinds.join(', ')}`;
}
