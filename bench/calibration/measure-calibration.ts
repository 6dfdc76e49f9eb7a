import { calibrationOf } from '../../activities/calibrate/calibration';
import { calibrationSeeds, heldAcrossRanges } from '../../activities/calibrate/seed-ranges';
import {
  type CalibrationDesign,
  type CalibrationThresholds,
  nextRollouts,
} from '../../activities/calibrate/stopping-rule';
import { drawRewards, isTrulyInBand, type SuccessProfile } from './draw-rewards';

/** Which training seeds the tasks have decides nothing here. */
const ANY_SHA256 = '0'.repeat(64);

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
  /** Repetitions in which the two ranges of seeds are said to differ, which they never do here. */
  parted: number;
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
    parted: 0,
  };
  const seeds = calibrationSeeds(design.seeds, ANY_SHA256);
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const rewards = drawRewards(profile, design.seeds, design.rolloutsPerSeed, seed + 7919 * repetition);
    const fixed = calibrationOf(rewards, thresholds).verdict === 'in-band';
    const groups = calibrateOn(rewards, design, thresholds);
    const figures = calibrationOf(groups, thresholds, design);
    const sequential = figures.verdict === 'in-band';
    result.rollouts += groups.reduce((sum, group) => sum + group.length, 0);
    result.wrongFixed += Number(fixed !== inBand);
    result.wrongSequential += Number(sequential !== inBand);
    result.differ += Number(sequential !== fixed);
    result.parted += Number(heldAcrossRanges(figures, seeds).verdict === 'differs-by-seed');
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
