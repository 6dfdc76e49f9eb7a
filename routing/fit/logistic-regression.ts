import { mean } from '../../activities/statistics/mean';
import type { SparseVector } from '../opening-features';
import type { LinearModel } from '../router-parts';

/** One observation: features, the share of trials with outcome 1, and the number of its trials. */
export interface Observation {
  features: SparseVector;
  /** In [0, 1]. */
  share: number;
  trials: number;
}

/** Newton steps; a dozen are usual. */
const MOST_STEPS = 50;
const MOST_HALVINGS = 30;
const MOST_CONJUGATE_STEPS = 100;
/** The fit ends when every component of the gradient is at most this, in units of one observation. */
const TOLERANCE = 1e-6;
/** It keeps the bias finite if all outcomes are the same. */
const BIAS_RIDGE = 1e-3;

/**
 * The logistic regression with the least Σ trials · cross-entropy + ridge/2 · |w|². Newton's method with conjugate
 * gradients (as in LIBLINEAR's trust-region solver, Lin, Weng and Keerthi 2008). A step is halved if the full step
 * would not decrease the objective. Between steps it lets other work of the process run. The problem is strictly
 * convex, so the fit does not depend on the start.
 *
 * `width` is the number of features. Without observations every probability is 0.5.
 */
export async function fitLogistic(
  observations: readonly Observation[],
  width: number,
  ridge: number,
): Promise<LinearModel> {
  const problem = new Problem(observations, width, ridge);
  let point = new Float64Array(width + 1);
  let loss = problem.loss(point);
  for (let step = 0; step < MOST_STEPS; step++) {
    const gradient = problem.gradient(point);
    if (gradient.every((value) => Math.abs(value) < TOLERANCE)) break;
    const direction = await conjugateGradients(problem.curvature(point), gradient);
    const next = lineSearch(problem, point, direction, loss);
    if (next === null) break;
    [point, loss] = [next.point, next.loss];
  }
  return toModel(point);
}

/** The convex problem. A point consists of the weights and then the bias, whose feature is 1 in every observation. */
class Problem {
  /** The observations in sequence: the start of each, its features and their values. */
  private readonly starts: Int32Array;
  private readonly positions: Int32Array;
  private readonly values: Float64Array;
  private readonly ridges: Float64Array;

  constructor(
    private readonly observations: readonly Observation[],
    width: number,
    ridge: number,
  ) {
    const sizes = observations.map(({ features }) => features.positions.length + 1);
    this.starts = new Int32Array(observations.length + 1);
    sizes.forEach((size, row) => (this.starts[row + 1] = (this.starts[row] as number) + size));
    this.positions = Int32Array.from(observations.flatMap(({ features }) => [...features.positions, width]));
    this.values = Float64Array.from(observations.flatMap(({ features }) => [...features.values, 1]));
    this.ridges = new Float64Array(width + 1).fill(ridge);
    this.ridges[width] = BIAS_RIDGE;
  }

  loss(point: Float64Array): number {
    let sum = 0;
    point.forEach((value, place) => (sum += ((this.ridges[place] as number) * value * value) / 2));
    this.products(point).forEach((z, row) => {
      const { share, trials } = this.observations[row] as Observation;
      // log(1 + exp(z)) without overflow.
      sum += trials * (Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))) - share * z);
    });
    return sum;
  }

  gradient(point: Float64Array): Float64Array {
    const residuals = this.products(point).map((z, row) => {
      const { share, trials } = this.observations[row] as Observation;
      return trials * (sigmoid(z) - share);
    });
    return this.penalised(point, residuals);
  }

  /** Multiplies vectors by the Hessian at `point`. */
  curvature(point: Float64Array): (vector: Float64Array) => Float64Array {
    const scales = this.products(point).map((z, row) => {
      const p = sigmoid(z);
      return (this.observations[row] as Observation).trials * p * (1 - p);
    });
    return (vector) =>
      this.penalised(
        vector,
        this.products(vector).map((z, row) => z * (scales[row] as number)),
      );
  }

  /** w · x of each observation. */
  private products(point: Float64Array): Float64Array {
    const products = new Float64Array(this.observations.length);
    for (let row = 0; row < products.length; row++) {
      let sum = 0;
      for (let i = this.starts[row] as number; i < (this.starts[row + 1] as number); i++)
        sum += (point[this.positions[i] as number] as number) * (this.values[i] as number);
      products[row] = sum;
    }
    return products;
  }

  /** ridge · point + Σ factor · x. */
  private penalised(point: Float64Array, factors: Float64Array): Float64Array {
    const result = point.map((value, place) => value * (this.ridges[place] as number));
    for (let row = 0; row < factors.length; row++)
      for (let i = this.starts[row] as number; i < (this.starts[row + 1] as number); i++) {
        const position = this.positions[i] as number;
        result[position] = (result[position] as number) + (factors[row] as number) * (this.values[i] as number);
      }
    return result;
  }
}

/** Lets this process send its heartbeats. */
const breathe = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Solves H d = -gradient approximately, to a residual of a tenth of the gradient. */
async function conjugateGradients(
  curvature: (v: Float64Array) => Float64Array,
  gradient: Float64Array,
): Promise<Float64Array> {
  const solution = new Float64Array(gradient.length);
  let residual = gradient.map((value) => -value);
  let search = residual;
  let size = dot(residual, residual);
  const enough = size * 0.01;
  for (let step = 0; step < MOST_CONJUGATE_STEPS && size > enough; step++) {
    await breathe();
    const bent = curvature(search);
    const length = size / dot(search, bent);
    solution.forEach((value, i) => (solution[i] = value + length * (search[i] as number)));
    residual = residual.map((value, i) => value - length * (bent[i] as number));
    const next = dot(residual, residual);
    search = residual.map((value, i) => value + (next / size) * (search[i] as number));
    size = next;
  }
  return solution;
}

function lineSearch(problem: Problem, from: Float64Array, direction: Float64Array, loss: number) {
  for (let halving = 0, length = 1; halving < MOST_HALVINGS; halving++, length /= 2) {
    const point = from.map((value, i) => value + length * (direction[i] as number));
    const next = problem.loss(point);
    if (next < loss) return { point, loss: next };
  }
  return null;
}

/** Weights that change no decision are dropped, because a router is read at every start of a gateway. */
function toModel(point: Float64Array): LinearModel {
  const weights = [...point.slice(0, -1)].map(round);
  const positions = weights.flatMap((weight, position) => (weight === 0 ? [] : [position]));
  return {
    bias: round(point.at(-1) as number),
    weights: { positions, values: positions.map((position) => weights[position] as number) },
  };
}

/** Mean cross-entropy of the observations under these probabilities, in nats. */
export function crossEntropy(observations: readonly Observation[], probabilities: readonly number[]): number {
  return mean(
    observations.map(({ share }, i) => {
      const p = Math.min(1 - 1e-9, Math.max(1e-9, probabilities[i] as number));
      return -share * Math.log(p) - (1 - share) * Math.log(1 - p);
    }),
  );
}

const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));
const dot = (a: Float64Array, b: Float64Array): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
const round = (value: number): number => Math.round(value * 1e4) / 1e4;
