/**
 * Validations and calibrations as they are read back. A run that is under way at an upgrade has attempts from before:
 * what they lack is filled in here, so that it neither fails at its next attempt nor at its report.
 */
import { z } from 'zod';
import { calibrationResultSchema } from '../contracts/artifacts/environment-attempt';
import { validationSchema } from '../contracts/artifacts/environment-check';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Validation; before there were certificates, a check had no group and no figures. */
export const storedValidationSchema = z.preprocess((value) => {
  if (!isRecord(value) || !Array.isArray(value['checks'])) return value;
  return {
    ...value,
    checks: value['checks'].map((check: unknown) =>
      isRecord(check) ? { group: 'form', figures: [], ...check } : check,
    ),
  };
}, validationSchema);

/**
 * CalibrationResult; before calibration stopped early it made all rollouts, and gave probabilities without intervals,
 * which are left out. Whether the environment was at fault was not said.
 */
export const storedCalibrationSchema = z.preprocess((stored) => {
  const value = isRecord(stored) ? { faulty: false, ...stored } : stored;
  if (!isRecord(value) || 'planned' in value || !isRecord(value['passAt'])) return value;
  const { seeds, rolloutsPerSeed, passAt } = value;
  const rollouts = Number(seeds) * Number(rolloutsPerSeed);
  const withInterval = Object.fromEntries(
    Object.entries(passAt).filter(([, probability]) => typeof probability !== 'number'),
  );
  return { ...value, rollouts, planned: rollouts, doubt: 0, passAt: withInterval };
}, calibrationResultSchema);
