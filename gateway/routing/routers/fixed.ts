import type { RouterSettings } from '../../../contracts/config/gateway-config';
import { NONE_LABEL } from '../../../contracts/names';
import type { Router } from '../router';

/** For comparison: every conversation gets the same capability. One that the version lacks sends everything to base. */
export function fixedRouter({ capability }: RouterSettings): Router {
  return {
    route({ version }) {
      const chosen = capability ?? version.adapters[0]?.capabilityId;
      const known = version.adapters.some(({ capabilityId }) => capabilityId === chosen);
      return Promise.resolve({
        capabilityId: known && chosen !== undefined ? chosen : NONE_LABEL,
        reason: 'fixed',
        probability: null,
        coveredMass: null,
      });
    },
  };
}
