import type { RouterSettingsOf } from '../../../contracts/config/router-settings';
import { NONE_LABEL } from '../../../contracts/names';
import type { Router } from '../router';

/** Gives every conversation the same capability; `none` when the version does not have it. For comparisons. */
export function fixedRouter({ capability }: RouterSettingsOf<'fixed'>): Router {
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
