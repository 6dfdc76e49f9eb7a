import { z } from 'zod';
import { NONE_LABEL } from '../../contracts/names';
import type { Kind } from '../kind';
import { leftOut } from '../router-parts';

const schema = z.strictObject({ kind: z.literal('base'), leftOut }).describe('Every conversation gets the base model.');

/** No adapter is used. */
export const base: Kind<z.infer<typeof schema>> = {
  schema,
  needs: { mixed: false, outcomes: false },
  choosesArms: false,
  saysNeeds: false,
  fit: () => Promise.resolve({ kind: 'base', leftOut: [] }),
  open: () => () => ({ capabilityId: NONE_LABEL, probability: 1, reason: 'routed' }),
  arms: () => [],
  words: {
    report: 'No adapter was used.',
    learnsFrom: 'nothing: no adapter is used',
    cost: 'nothing',
  },
};
