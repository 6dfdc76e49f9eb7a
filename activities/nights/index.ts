import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { ArtifactStore } from '../../store';
import { createDecideNight } from './decide-night';
import { createKeepMembers } from './keep-members';
import { createPlanNight } from './plan-night';

/** Activities of a night: its plan, the decision whether it continues, and the adapters that it keeps. */
export function createNightActivities(
  store: ArtifactStore,
): Pick<OrchestrationActivities, 'planNight' | 'decideNight' | 'keepMembers'> {
  return {
    planNight: createPlanNight(store),
    decideNight: createDecideNight(store),
    keepMembers: createKeepMembers(store),
  };
}
