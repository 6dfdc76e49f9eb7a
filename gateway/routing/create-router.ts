import type { GatewayAgent } from '../../contracts/config/gateway-config';
import type { ArtifactStore } from '../../store';
import type { ReplicaSet } from '../upstream/replica-set';
import { endpointEmbed, lexicalEmbed } from './embed';
import { readExamples } from './read-examples';
import { fixedRouter } from './routers/fixed';
import { logitsRouter } from './routers/logits';
import { mixtureRouter } from './routers/mixture';
import type { Router } from './router';
import { shortlistRouter } from './routers/shortlist';

/** The router that an agent's settings name. */
export function createRouter(
  agent: GatewayAgent,
  replicas: ReplicaSet,
  store: ArtifactStore,
  apiKey: string | null,
): Router {
  const { router: settings, baseModel, embeddings } = agent;
  switch (settings.kind) {
    case 'logits':
      return logitsRouter(settings, replicas, baseModel);
    case 'fixed':
      return fixedRouter(settings);
    case 'shortlist': {
      const embed = embeddings === undefined ? lexicalEmbed : endpointEmbed(embeddings, apiKey);
      return shortlistRouter(settings, {
        embed,
        readExamples: (version) => readExamples(store, version),
        replicas,
        baseModel,
      });
    }
    case 'mixture':
      return mixtureRouter(settings, replicas, baseModel);
  }
}
