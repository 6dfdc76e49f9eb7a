import { z } from 'zod';

/** A range of consecutive seeds of the agent's own environment. */
export const seedRangeSchema = z.strictObject({
  start: z.int().nonnegative().describe('First seed.'),
  count: z.int().positive().describe('How many seeds.'),
});
