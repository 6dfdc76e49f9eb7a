import { z } from 'zod';
import { MIXED } from '../../contracts/names';
import type { Kind } from '../kind';
import { leftOut, toolNeeds } from '../router-parts';

const schema = z
  .strictObject({ kind: z.literal('mixed'), leftOut, toolNeeds })
  .describe('Every conversation gets the adapter that was trained on all environments.');

/** One adapter for everything. */
export const mixed: Kind<z.infer<typeof schema>> = {
  schema,
  needs: { mixed: true, outcomes: false },
  choosesArms: false,
  saysNeeds: false,
  fit: () => Promise.resolve({ kind: 'mixed', leftOut: [] }),
  open: () => () => ({ capabilityId: MIXED, probability: 1, reason: 'routed' }),
  arms: () => [MIXED],
  words: {
    report: 'Every task went to the mixed adapter: no router was better by more than chance.',
    learnsFrom: 'nothing: one adapter for everything, no choice',
    cost: 'nothing',
  },
};
