import type { RouterSettingsOf } from '../../../contracts/config/router-settings';
import { askBaseModel } from '../ask-base-model';
import { capabilitiesOf, chooseByLabels } from '../label-choice';
import type { Router, RouterDeps } from '../router';

/**
 * The paper's router: the base model reads the task and one line per capability, and answers with one label token.
 */
export function logitsRouter({ minCoveredMass }: RouterSettingsOf<'logits'>, deps: RouterDeps): Router {
  return {
    async route(question, signal) {
      const { version } = question;
      return chooseByLabels(
        await askBaseModel(deps, capabilitiesOf(version), question, signal),
        version,
        minCoveredMass,
      );
    },
  };
}
