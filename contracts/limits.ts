/**
 * First task seeds of the three uses of a synthesised environment. The ranges do not meet, so that what an adapter was
 * trained on is never what its environment was measured with. Imports nothing.
 */
export const SYNTHETIC_SEEDS = {
  /** Calibration uses `calibration.seeds` of them. */
  calibration: 0,
  /** Validation: scripted policies, no model. */
  validation: 500_000,
  /** Training draws upwards from here. */
  training: 1_000_000,
} as const;
