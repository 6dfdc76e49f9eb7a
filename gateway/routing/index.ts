import type { GatewayAgent } from '../../contracts';
import type { ReplicaSet } from '../upstream/replica-set';
import { fixedRouter } from './fixed';
import { logitsRouter } from './logits';
import type { Router } from './router';

/** The router that an agent's settings name. */
export function createRouter({ router: settings, baseModel }: GatewayAgent, replicas: ReplicaSet): Router {
  switch (settings.kind) {
    case 'logits':
      return logitsRouter(settings, replicas, baseModel);
    case 'fixed':
      return fixedRouter(settings);
    case 'shortlist':
    case 'mixture':
      throw new Error(`The router ${settings.kind} is not there yet.`);
  }
}
