import type { Judgement, ShownChange } from '../environment-checks/judged-variations';

/** Fewest tries of a change from which it is shown: fewer say little, and no check uses them. */
const FEWEST_TRIES = 4;
/** Most changes that are shown, those first that were tried most. */
const MOST_CHANGES = 120;

/**
 * What the agent's own environment made of its solutions with one change each, a line for each change: whether it is
 * accepted, and what the changed call is answered. Checks compare a written environment with this.
 */
export function verdictLines({ shown }: Pick<Judgement, 'shown'>): string[] {
  return shown
    .filter(({ tried }) => tried >= FEWEST_TRIES)
    .map((change, place) => ({ change, place }))
    .sort((a, b) => b.change.tried - a.change.tried || a.place - b.place)
    .slice(0, MOST_CHANGES)
    .map(({ change }) => `- ${change.about}: ${verdict(change)}${answers(change)}`);
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
