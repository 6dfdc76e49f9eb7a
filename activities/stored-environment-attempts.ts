/**
 * Schemas that read stored validations and calibrations, also those of earlier versions. A run may be under way during
 * an upgrade; fields that its earlier attempts lack are filled in here, so that neither its next attempt nor its report
 * fails.
 */
import { z } from 'zod';
import { calibrationResultSchema } from '../contracts/artifacts/environment-attempt';
import { validationSchema } from '../contracts/artifacts/environment-check';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A stored validation. In early versions, a check had no group and no figures. */
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
 * A stored calibration. In early versions it always made all planned rollouts, its probabilities had no intervals (they
 * are left out), and it did not say whether the environment was at fault.
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
