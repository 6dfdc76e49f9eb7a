/** Farthest that the rounding of a sum may lead away from the number that is meant. */
const ROUNDING = 1e-9;

/**
 * The number of six decimals that is next to a reward, if one is: ten times 0.1 makes 0.9999999999999999, which is
 * meant as 1. Every other value stays. The environments' runtime does the same (`without_rounding` of
 * `envs/runtime/module.py`).
 */
export function withoutRounding(reward: unknown): unknown {
  if (typeof reward !== 'number') return reward;
  const near = Number(reward.toFixed(6));
  return Math.abs(reward - near) < ROUNDING ? near + 0 : reward;
}
