/** Number of trials of each held-out task. It is decided before any task is played, so no result can influence it. */
import { type EvaluationSize, minimumDetectableGain } from './minimum-detectable-gain';

/** The gain that an owner wants to prove, and the limit on trials for it. */
export interface TrialsAim {
  /** The least number of trials. */
  least: number;
  /** Most trials. */
  most: number;
  /** The gain that should be provable. */
  gain: number;
}

/** The number of trials, and whether they are enough. */
export interface PlannedTrials {
  trials: number;
  /** Whether they prove a gain of the wanted size with the stated power. */
  reached: boolean;
  /** Smallest gain that any number of trials can prove: more trials do not reduce the variance between tasks. */
  floor: number;
}

/** The least number of trials that proves the wanted gain; if no number does, the allowed maximum. */
export function plannedTrials(size: Omit<EvaluationSize, 'trials'>, { least, most, gain }: TrialsAim): PlannedTrials {
  const floor = minimumDetectableGain({ ...size, trials: 1, withinTask: 0, failed: 0 });
  const isEnough = (trials: number) => minimumDetectableGain({ ...size, trials }) <= gain;
  for (let trials = least; trials <= most; trials++) if (isEnough(trials)) return { trials, reached: true, floor };
  return { trials: Math.max(least, most), reached: false, floor };
}
