/**
 * The smallest gain that an evaluation can prove. It is known before the evaluation, so that its size can be chosen.
 */
import { normalQuantile } from './normal';

/** Probability of proving a true gain of the stated size. */
export const POWER = 0.8;

/** The inputs that determine the smallest provable gain. */
export interface EvaluationSize {
  /** Held-out tasks. */
  tasks: number;
  /** Trials of each task by each arm. */
  trials: number;
  /** Coverage of the interval; its lower end must be above zero. */
  confidence: number;
  /** Mean over tasks of p (1 - p): the variance by chance between trials of one task. At most 1/4. */
  withinTask: number;
  /** Share of the episodes that fail and have no result. Absent: none. */
  failed?: number;
}

/**
 * The smallest true gain over the base model that is proved with probability `POWER`. A gain g means that a share g of
 * tasks pass instead of failing. Twice as many trials halve the variance within a task, but not the variance between
 * tasks. Failed episodes leave fewer results of a task, and leave out the tasks whose trials all fail in one of two
 * arms. At most 1: at 1, only a gain on every task could be proved.
 */
export function minimumDetectableGain({ tasks, trials, confidence, withinTask, failed = 0 }: EvaluationSize): number {
  const allFail = failed ** trials;
  const results = (trials * (1 - failed)) / Math.max(Number.EPSILON, 1 - allFail);
  const compared = tasks * (1 - allFail) ** 2;
  const z = normalQuantile(1 - (1 - confidence) / 2) + normalQuantile(POWER);
  const isProved = (gain: number) =>
    gain >= z * Math.sqrt((gain * (1 - gain) + (2 * withinTask) / results) / Math.max(1, compared));
  let [low, high] = [0, 1];
  if (!isProved(high)) return 1;
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (isProved(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** The size of an evaluation before any result: every trial counts as a coin toss, which proves least. */
export const unknownAgent = (size: Pick<EvaluationSize, 'tasks' | 'trials' | 'confidence'>): EvaluationSize => ({
  ...size,
  withinTask: 0.25,
});

/**
 * Pass rate and variance within tasks, from the base model's passes (1) and failures (0) by task. A task with one trial
 * says nothing about this variance. If all tasks have only one, the whole spread counts as chance.
 */
export function observedSpread(passes: readonly (readonly number[])[]): { passRate: number; withinTask: number } {
  const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / Math.max(1, values.length);
  const passRate = mean(passes.map(mean));
  const repeated = passes.filter((trials) => trials.length > 1);
  if (repeated.length === 0) return { passRate, withinTask: passRate * (1 - passRate) };
  // The unbiased estimate of p (1 - p) from n trials.
  const chance = repeated.map((trials) => (mean(trials) * (1 - mean(trials)) * trials.length) / (trials.length - 1));
  return { passRate, withinTask: Math.min(mean(chance), passRate * (1 - passRate)) };
}
