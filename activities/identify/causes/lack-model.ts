import { solvePositive } from '../../statistics/solve';

const MOST_STEPS = 60;
/** A step changes no weight by more than this, so that steps on separable data do not overshoot. */
const LONGEST_STEP = 5;
const TOLERANCE = 1e-7;
/**
 * Ridge of each weight, in units of one observation. It is small: what it holds back stays a difference between the
 * groups that are compared.
 */
const RIDGE = 0.1;
const BIAS_RIDGE = 1e-3;

/** P(LACKING) of each row, from the other labels of its episode. */
export interface LackModel {
  /** In (0, 1), by row. */
  probability: Float64Array;
  /** Multiplies a vector of the weights' space by the inverse of the information matrix. */
  solve: (vector: Float64Array) => Float64Array;
}

/**
 * Logistic regression by Newton's method. Each row of `columns` has the value 1 in the listed columns, and always in
 * column 0, the bias; `lacking` is 1 where the capability is lacking. `width` counts the columns.
 */
export function fitLackModel(columns: readonly Uint16Array[], lacking: Uint8Array, width: number): LackModel {
  const weights = new Float64Array(width);
  const probability = new Float64Array(columns.length);
  let information = new Float64Array(0);
  for (let step = 0; step < MOST_STEPS; step++) {
    const gradient = weights.map((weight, j) => -weight * (j === 0 ? BIAS_RIDGE : RIDGE));
    information = new Float64Array(width * width);
    for (let j = 0; j < width; j++) information[j * width + j] = j === 0 ? BIAS_RIDGE : RIDGE;
    columns.forEach((row, i) => {
      const p = 1 / (1 + Math.exp(-row.reduce((sum, j) => sum + weights[j]!, 0)));
      probability[i] = p;
      for (const j of row) {
        gradient[j]! += lacking[i]! - p;
        for (const k of row) information[j * width + k]! += p * (1 - p);
      }
    });
    const change = solvePositive(information, gradient);
    const longest = change.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (longest < TOLERANCE) break;
    const scale = Math.min(1, LONGEST_STEP / longest);
    for (let j = 0; j < width; j++) weights[j]! += scale * change[j]!;
  }
  return { probability, solve: (vector) => solvePositive(information, vector) };
}
