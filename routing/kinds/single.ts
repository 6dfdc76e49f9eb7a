import { z } from 'zod';
import { NONE_LABEL } from '../../contracts/names';
import { gainsOfSingles } from '../fit/best-single';
import type { Kind } from '../kind';
import { leftOut, toolNeeds } from '../router-parts';

const schema = z
  .strictObject({
    kind: z.literal('single'),
    leftOut,
    toolNeeds,
    capabilityId: z.string().describe('The capability of that adapter; `none` if none seems to gain.'),
  })
  .describe('Every conversation gets the same adapter of one capability.');

/** The adapter that gains most over all train tasks, for everything. */
export const single: Kind<z.infer<typeof schema>> = {
  schema,
  needs: { mixed: false, outcomes: true },
  choosesArms: false,
  saysNeeds: false,
  fit: ({ tasks, capabilities, outcomes }) => {
    const ids = capabilities.map(({ id }) => id);
    const [best] = gainsOfSingles(tasks, ids, outcomes);
    const capabilityId = best !== undefined && best.gain > 0 ? best.capabilityId : NONE_LABEL;
    return Promise.resolve({ kind: 'single', leftOut: [], capabilityId });
  },
  open:
    ({ capabilityId }) =>
    () => ({ capabilityId, probability: 1, reason: 'routed' }),
  arms: ({ capabilityId }) => (capabilityId === NONE_LABEL ? [] : [capabilityId]),
  words: {
    report: "Every task went to one capability's adapter: no router was better by more than chance.",
    learnsFrom: 'which adapter passed which train task: the best one gets everything',
    cost: 'nothing',
  },
};
