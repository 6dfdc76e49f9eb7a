/** How small a gain an evaluation can still prove. Known before it is played, so that its size can be chosen. */
import { normalQuantile } from './normal';

/** Chance with which a true gain of the stated size is proved. */
export const POWER = 0.8;

/** The inputs that decide how small a gain can be proved. */
export interface EvaluationSize {
  /** Held-out tasks. */
  tasks: number;
  /** Trials of each task by each arm. */
  trials: number;
  /** Coverage of the interval whose lower end has to be above zero. */
  confidence: number;
  /** Mean over tasks of p (1 - p): how much two trials of one task differ by chance. At most 1/4. */
  withinTask: number;
}

/**
 * The smallest true gain over the base model that is proved with a chance of `POWER`. A gain g is taken to be a share g
 * of tasks that pass instead of fail; chance within a task is halved by twice as many trials, chance between tasks is
 * not. At most 1: where it is 1, only a gain on every task could be proved.
 */
export function minimumDetectableGain({ tasks, trials, confidence, withinTask }: EvaluationSize): number {
  const z = normalQuantile(1 - (1 - confidence) / 2) + normalQuantile(POWER);
  const isProved = (gain: number) =>
    gain >= z * Math.sqrt((gain * (1 - gain) + (2 * withinTask) / trials) / Math.max(1, tasks));
  let [low, high] = [0, 1];
  if (!isProved(high)) return 1;
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (isProved(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** The size of an evaluation before anything is known of it: every trial is a toss of a coin, which proves least. */
export const unknownAgent = (size: Pick<EvaluationSize, 'tasks' | 'trials' | 'confidence'>): EvaluationSize => ({
  ...size,
  withinTask: 0.25,
});

/**
 * Pass rate and chance within tasks, from passes (1) and failures (0) of the base model by task. Tasks with one trial
 * say nothing about chance; without any other, all of the spread is taken for chance.
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
