import type { RouterSettingsOf } from '../../../contracts/config/router-settings';
import { NONE_LABEL } from '../../../contracts/names';
import { askBaseModel } from '../ask-base-model';
import { capabilitiesOf, chooseByLabels } from '../label-choice';
import type { Router, RouterDeps } from '../router';

/**
 * The paper's variant for many capabilities: the base model chooses only among the capabilities of the examples that
 * are most similar to the task, which keeps its prompt short. It chooses among all of them while the version's examples
 * are not prepared, and when the version has none.
 */
export function shortlistRouter(
  { minCoveredMass, neighbours }: RouterSettingsOf<'shortlist'>,
  deps: RouterDeps,
): Router {
  return {
    prepare: (version) => deps.examples.prepare(version),
    async route(question, signal) {
      const { version, task } = question;
      const near = new Set(
        (await deps.examples.nearest(version, task, neighbours, signal)).map(({ capabilityId }) => capabilityId),
      );
      const all = capabilitiesOf(version);
      const menu = near.size === 0 ? all : all.filter(({ id }) => near.has(id));
      if (menu.length === 0)
        return { capabilityId: NONE_LABEL, reason: 'shortlist-empty', probability: null, coveredMass: null };
      return chooseByLabels(await askBaseModel(deps, menu, question, signal), version, minCoveredMass);
    },
  };
}
