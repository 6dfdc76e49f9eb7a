import type { OpeningModel } from './opening-model';

/** Largest number of facts that one rule combines. */
const DEPTH = 5;
/** A fact splits a group of tasks if at least this many of them have it, and as many do not. */
const FEWEST = 2;
/** A split must lower the impurity of its group, counted in tasks, by at least this much. */
const LEAST_GAIN = 0.5;

type Node = { share: number } | { feature: number; present: Node; absent: Node };

/** Impurity of a group (Gini), times its size. */
const impurity = (count: number, size: number): number => (size === 0 ? 0 : (2 * count * (size - count)) / size);

/**
 * A classification tree on the presence of features (Breiman et al. 1984). It finds rules with "and", such as "a
 * request to cancel, and the order is pending", from fewer tasks than a regression needs.
 * @param size number of features.
 */
export function fitDecisionTree(rows: readonly Int32Array[], has: readonly boolean[], size: number): OpeningModel {
  const sets = rows.map((row) => new Set(row));
  const grow = (places: readonly number[], depth: number): Node => {
    const count = places.filter((place) => has[place]).length;
    const leaf = { share: (count + 0.5) / (places.length + 1) };
    if (depth === 0 || count === 0 || count === places.length) return leaf;
    const feature = bestSplit(places, count);
    if (feature === null) return leaf;
    const side = (isPresent: boolean): Node =>
      grow(
        places.filter((place) => sets[place]!.has(feature) === isPresent),
        depth - 1,
      );
    return { feature, present: side(true), absent: side(false) };
  };
  const bestSplit = (places: readonly number[], count: number): number | null => {
    const present = new Float64Array(size);
    const both = new Float64Array(size);
    for (const place of places)
      for (const feature of rows[place]!) {
        present[feature]! += 1;
        if (has[place]) both[feature]! += 1;
      }
    const before = impurity(count, places.length);
    let best: number | null = null;
    let most = LEAST_GAIN;
    for (let feature = 0; feature < size; feature++) {
      const [there, rest] = [present[feature]!, places.length - present[feature]!];
      if (there < FEWEST || rest < FEWEST) continue;
      const gain = before - impurity(both[feature]!, there) - impurity(count - both[feature]!, rest);
      if (gain <= most) continue;
      most = gain;
      best = feature;
    }
    return best;
  };
  const root = grow(
    rows.map((_, place) => place),
    DEPTH,
  );
  return (row) => {
    let node = root;
    while ('feature' in node) node = row.includes(node.feature) ? node.present : node.absent;
    return node.share;
  };
}
