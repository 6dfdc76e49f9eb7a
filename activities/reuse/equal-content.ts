import type { NightPlan } from '../../contracts/artifacts/night';

/** Whether two nights had the same inputs. */
export const isEqualContent = (a: NightPlan['content'], b: NightPlan['content']): boolean =>
  a.environment === b.environment && a.baseModel === b.baseModel && a.options === b.options;
