import { z } from 'zod';

/** Seeds of the agent's own environment, one after the other. */
export const seedRangeSchema = z.strictObject({
  start: z.int().nonnegative().describe('First seed.'),
  count: z.int().positive().describe('How many seeds.'),
});
