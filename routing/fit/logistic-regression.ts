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

/**
 * The convex problem. A point consists of the weights and then the bias, whose feature is 1 in every observation. A
 * stage fits hundreds of models, so the vectors are walked by plain loops: callbacks take twice the time.
 */
class Problem {
  /** The observations in sequence: the start of each, its features and their values. */
  private readonly starts: Int32Array;
  private readonly positions: Int32Array;
  private readonly values: Float64Array;
  private readonly shares: Float64Array;
  private readonly trials: Float64Array;
  private readonly ridges: Float64Array;

  constructor(observations: readonly Observation[], width: number, ridge: number) {
    const rows = observations.length;
    this.starts = new Int32Array(rows + 1);
    for (let row = 0; row < rows; row++)
      this.starts[row + 1] = this.starts[row]! + observations[row]!.features.positions.length + 1;
    this.positions = new Int32Array(this.starts[rows]!);
    this.values = new Float64Array(this.starts[rows]!);
    this.shares = new Float64Array(rows);
    this.trials = new Float64Array(rows);
    for (let row = 0; row < rows; row++) {
      const { features, share, trials } = observations[row]!;
      this.positions.set(features.positions, this.starts[row]);
      this.values.set(features.values, this.starts[row]);
      this.positions[this.starts[row + 1]! - 1] = width;
      this.values[this.starts[row + 1]! - 1] = 1;
      this.shares[row] = share;
      this.trials[row] = trials;
    }
    this.ridges = new Float64Array(width + 1).fill(ridge);
    this.ridges[width] = BIAS_RIDGE;
  }

  loss(point: Float64Array): number {
    let sum = 0;
    for (let place = 0; place < point.length; place++) {
      const value = point[place]!;
      sum += (this.ridges[place]! * value * value) / 2;
    }
    const products = this.products(point);
    for (let row = 0; row < products.length; row++) {
      const z = products[row]!;
      // log(1 + exp(z)) without overflow.
      sum += this.trials[row]! * (Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))) - this.shares[row]! * z);
    }
    return sum;
  }

  gradient(point: Float64Array): Float64Array {
    const residuals = this.products(point);
    for (let row = 0; row < residuals.length; row++)
      residuals[row] = this.trials[row]! * (sigmoid(residuals[row]!) - this.shares[row]!);
    return this.penalised(point, residuals);
  }

  /** Multiplies vectors by the Hessian at `point`. */
  curvature(point: Float64Array): (vector: Float64Array) => Float64Array {
    const scales = this.products(point);
    for (let row = 0; row < scales.length; row++) {
      const p = sigmoid(scales[row]!);
      scales[row] = this.trials[row]! * p * (1 - p);
    }
    return (vector) => {
      const bent = this.products(vector);
      for (let row = 0; row < bent.length; row++) bent[row] = bent[row]! * scales[row]!;
      return this.penalised(vector, bent);
    };
  }

  /** w · x of each observation. */
  private products(point: Float64Array): Float64Array {
    const { starts, positions, values } = this;
    const products = new Float64Array(starts.length - 1);
    for (let row = 0; row < products.length; row++) {
      const end = starts[row + 1]!;
      let sum = 0;
      for (let i = starts[row]!; i < end; i++) sum += point[positions[i]!]! * values[i]!;
      products[row] = sum;
    }
    return products;
  }

  /** ridge · point + Σ factor · x. */
  private penalised(point: Float64Array, factors: Float64Array): Float64Array {
    const { starts, positions, values, ridges } = this;
    const result = new Float64Array(point.length);
    for (let place = 0; place < result.length; place++) result[place] = point[place]! * ridges[place]!;
    for (let row = 0; row < factors.length; row++) {
      const factor = factors[row]!;
      const end = starts[row + 1]!;
      for (let i = starts[row]!; i < end; i++) {
        const position = positions[i]!;
        result[position] = result[position]! + factor * values[i]!;
      }
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
  const residual = gradient.map((value) => -value);
  const search = residual.slice();
  let size = dot(residual, residual);
  const enough = size * 0.01;
  for (let step = 0; step < MOST_CONJUGATE_STEPS && size > enough; step++) {
    await breathe();
    const bent = curvature(search);
    const length = size / dot(search, bent);
    for (let i = 0; i < solution.length; i++) {
      solution[i] = solution[i]! + length * search[i]!;
      residual[i] = residual[i]! - length * bent[i]!;
    }
    const next = dot(residual, residual);
    const kept = next / size;
    for (let i = 0; i < search.length; i++) search[i] = residual[i]! + kept * search[i]!;
    size = next;
  }
  return solution;
}

function lineSearch(problem: Problem, from: Float64Array, direction: Float64Array, loss: number) {
  const point = new Float64Array(from.length);
  for (let halving = 0, length = 1; halving < MOST_HALVINGS; halving++, length /= 2) {
    for (let i = 0; i < point.length; i++) point[i] = from[i]! + length * direction[i]!;
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

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

const round = (value: number): number => Math.round(value * 1e4) / 1e4;
