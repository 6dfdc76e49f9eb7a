import type { JudgedNight } from '../nights';

/** Nights within which what can be seen has to be taken up: each sees it in four of five. */
const PATIENCE = 7;

/**
 * What was truly lacking or lost, more than the nights say that they can see, for so many nights in a row that ended
 * without taking it up. A sentence each.
 */
export function missedEvents(nights: readonly JudgedNight[]): string[] {
  const found: string[] = [];
  let since = 0;
  for (const night of nights) {
    since = night.wrong.includes('missed') ? since + 1 : 0;
    if (since === PATIENCE)
      found.push(`${PATIENCE} nights until day ${night.day}: ${night.open.join(', ') || 'a loss'}`);
  }
  return found;
}
