/**
 * Jaccard index of two sets, in [0, 1]: size of the intersection over size of the union (Jaccard 1912, New Phytologist
 * 11:37-50). 0 if both are empty.
 */
export function jaccard<T>(a: ReadonlySet<T> = new Set(), b: ReadonlySet<T> = new Set()): number {
  let both = 0;
  for (const item of a) if (b.has(item)) both++;
  const union = a.size + b.size - both;
  return union === 0 ? 0 : both / union;
}
