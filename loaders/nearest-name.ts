/** The number of letters to insert, delete, replace, or swap with the next one, that turn one word into the other. */
function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let at = 1; at <= other.length; at++) {
      const isSame = one[row - 1] === other[at - 1];
      const isSwapped = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      const swapped = isSwapped ? before[at - 2]! + 1 : Infinity;
      next.push(Math.min(last[at]! + 1, next[at - 1]! + 1, last[at - 1]! + (isSame ? 0 : 1), swapped));
    }
    [before, last] = [last, next];
  }
  return last[other.length]!;
}

/** Without what people confuse: capitals, and the signs between words. */
const letters = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** The longest name that is compared. */
const LONGEST = 64;

/** The known name that a misspelt one most likely means: at most a third of its letters differ. Null: none is near. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > LONGEST) return null;
  const near = known
    .map((one) => ({ one, distance: editDistance(letters(name), letters(one)) }))
    .filter(({ one, distance }) => distance <= Math.max(1, Math.floor(letters(one).length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.one ?? null;
}
