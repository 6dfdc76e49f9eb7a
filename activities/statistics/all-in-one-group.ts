/**
 * Probability in [0, 1] that all of `count` things fall into a group of `size` when they are dealt by chance to it and
 * to `others` others: the tail of Fisher's exact test when one of its cells is empty (Fisher 1935, The Design of
 * Experiments). `count` is at most `size`.
 */
export function allInOneGroup(count: number, size: number, others: number): number {
  let probability = 1;
  for (let dealt = 0; dealt < count; dealt++) probability *= (size - dealt) / (size + others - dealt);
  return probability;
}
