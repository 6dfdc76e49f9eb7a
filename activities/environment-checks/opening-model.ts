/** Number of passes over all tasks when a model is fitted, and the size of its steps. */
const PASSES = 120;
const STEP = 0.5;
/** Ridge penalty of each weight. It is small, because an exception may be rare and must still be learnt. */
const RIDGE = 1e-4;

/** Numbers the features of openings. `rows` has the numbers of each opening's features. */
export function numberOpenings(openings: readonly ReadonlySet<string>[]) {
  const features = new Map<string, number>();
  const rows = openings.map((opening) =>
    Int32Array.from([...opening], (feature) => {
      const number = features.get(feature) ?? features.size;
      features.set(feature, number);
      return number;
    }),
  );
  return { rows, features };
}

/** The probability that a task has something, given the numbers of its opening's features. */
export type OpeningModel = (row: Int32Array) => number;

/**
 * A logistic regression on the presence of features, fitted by Adagrad (Duchi et al. 2011). The same tasks give the
 * same model.
 * @param size number of features.
 */
export function fitOpeningModel(rows: readonly Int32Array[], has: readonly boolean[], size: number): OpeningModel {
  // The last weight is the bias.
  const weights = new Float64Array(size + 1);
  const squares = new Float64Array(size + 1);
  const gradient = new Float64Array(size + 1);
  const predict: OpeningModel = (row) => {
    let sum = weights[size]!;
    for (const feature of row) sum += weights[feature]!;
    return 1 / (1 + Math.exp(-sum));
  };
  for (let pass = 0; pass < PASSES; pass++) {
    gradient.fill(0);
    for (let place = 0; place < rows.length; place++) {
      const row = rows[place]!;
      const error = predict(row) - Number(has[place]);
      gradient[size]! += error;
      for (const feature of row) gradient[feature]! += error;
    }
    for (let feature = 0; feature <= size; feature++) {
      const slope = gradient[feature]! + (feature < size ? RIDGE * rows.length * weights[feature]! : 0);
      squares[feature]! += slope * slope;
      if (squares[feature]! > 0) weights[feature]! -= (STEP * slope) / Math.sqrt(squares[feature]!);
    }
  }
  return predict;
}
