import { createHash } from 'node:crypto';

/**
 * Seed of the sampler for an episode's first turn: 31 bits of a hash of run seed, task seed and trial. It does not
 * depend on the model. So the arms of an evaluation are compared with common random numbers.
 * @param night number of a night that plays tasks again, so that its rollouts differ.
 */
export function samplingSeed(runSeed: number, taskSeed: number, trial: number, night?: number): number {
  const again = night === undefined ? '' : `:night-${night}`;
  return createHash('sha256').update(`${runSeed}:${taskSeed}:${trial}${again}`).digest().readUInt32BE(0) >>> 1;
}
