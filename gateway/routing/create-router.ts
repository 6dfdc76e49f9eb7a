import type { RouterKind, RouterSettings, RouterSettingsOf } from '../../contracts/config/router-settings';
import type { Router, RouterDeps } from './router';
import { fixedRouter } from './routers/fixed';
import { logitsRouter } from './routers/logits';
import { promotedRouter } from './routers/promoted';

/** The routers, by kind. */
const ROUTERS: { [Kind in RouterKind]: (settings: RouterSettingsOf<Kind>, deps: RouterDeps) => Router } = {
  promoted: promotedRouter,
  logits: logitsRouter,
  fixed: fixedRouter,
};

/** The router of the kind that the settings name. */
export function createRouter(settings: RouterSettings, deps: RouterDeps): Router {
  // The compiler does not see that the function found by `kind` takes the settings of this kind.
  const create = ROUTERS[settings.kind] as (settings: RouterSettings, deps: RouterDeps) => Router;
  return create(settings, deps);
}
