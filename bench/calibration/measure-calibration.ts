import { calibrationOf } from '../../activities/calibrate/calibration';
import {
  type CalibrationDesign,
  type CalibrationThresholds,
  nextRollouts,
} from '../../activities/calibrate/stopping-rule';
import { drawRewards, isTrulyInBand, type SuccessProfile } from './draw-rewards';

/** Results of repeated calibrations of one simulated environment. */
export interface ProfileResult {
  profile: SuccessProfile;
  inBand: boolean;
  repetitions: number;
  /** Rollouts made, all repetitions together. */
  rollouts: number;
  /** Repetitions whose verdict (in band or not) is not the truth, by the fixed and by the sequential design. */
  wrongFixed: number;
  wrongSequential: number;
  /** Repetitions in which the two designs disagree. */
  differ: number;
}

/** Calibrates one simulated environment repeatedly, by both designs on the same rewards. */
export function measureProfile(
  profile: SuccessProfile,
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
  repetitions: number,
  seed: number,
): ProfileResult {
  const inBand = isTrulyInBand(profile, design.rolloutsPerSeed, thresholds);
  const result: ProfileResult = {
    profile,
    inBand,
    repetitions,
    rollouts: 0,
    wrongFixed: 0,
    wrongSequential: 0,
    differ: 0,
  };
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const rewards = drawRewards(profile, design.seeds, design.rolloutsPerSeed, seed + 7919 * repetition);
    const fixed = calibrationOf(rewards, thresholds).verdict === 'in-band';
    const groups = calibrateOn(rewards, design, thresholds);
    const sequential = calibrationOf(groups, thresholds, design).verdict === 'in-band';
    result.rollouts += groups.reduce((sum, group) => sum + group.length, 0);
    result.wrongFixed += Number(fixed !== inBand);
    result.wrongSequential += Number(sequential !== inBand);
    result.differ += Number(sequential !== fixed);
  }
  return result;
}

/** The rewards of the rollouts that the stopping rule asks for, out of those that the fixed design would make. */
function calibrateOn(
  rewards: readonly (readonly number[])[],
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
): number[][] {
  const groups: number[][] = [];
  for (
    let wanted = nextRollouts(groups, design, thresholds);
    wanted !== null;
    wanted = nextRollouts(groups, design, thresholds)
  ) {
    for (const { group, upTo } of wanted) groups[group] = rewards[group]!.slice(0, upTo);
  }
  return groups;
}
