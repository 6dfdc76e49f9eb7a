import type { ServedAgent } from './served-agent';
import { ApiError } from '../http/errors';
import type { Client } from '../clients';

/** The meaning of a client's `model`. */
export interface ModelTarget {
  agent: ServedAgent;
  /** The adapter that the name means, null for the base model. A null pin leaves the choice to the router. */
  pin: { adapter: string | null; version: number | null } | null;
}

/**
 * `<agent>` is routed, `<agent>@base` is the base model, and an adapter's immutable name is that adapter. Other names
 * are refused here, because a model server may load whatever directory it finds under a name. Throws ApiError 404 for a
 * name that does not exist, and 403 for an agent that the client may not use.
 */
export function resolveModel(name: string, agents: ReadonlyMap<string, ServedAgent>, client: Client): ModelTarget {
  const target = find(name, agents);
  if (target === null) {
    throw new ApiError(
      404,
      `The model ${JSON.stringify(name.slice(0, 100))} does not exist; GET /v1/models lists the names.`,
      {
        param: 'model',
        code: 'model_not_found',
      },
    );
  }
  const agent = target.agent.settings.name;
  if (!client.mayUse(agent))
    throw new ApiError(403, `Client ${client.name} may not use the agent ${agent}.`, {
      param: 'model',
      code: 'model_not_allowed',
    });
  return target;
}

function find(name: string, agents: ReadonlyMap<string, ServedAgent>): ModelTarget | null {
  const routed = agents.get(name);
  if (routed !== undefined) return { agent: routed, pin: null };
  if (name.endsWith('@base')) {
    const agent = agents.get(name.slice(0, -'@base'.length));
    if (agent !== undefined) return { agent, pin: { adapter: null, version: null } };
  }
  for (const agent of agents.values()) {
    const version = agent.adapterVersion(name);
    if (version !== null) return { agent, pin: { adapter: name, version: version.version } };
  }
  return null;
}

/** Names for GET /v1/models: the client's agents, their base models, and the adapters that are loaded now. */
export function modelNames(
  agents: ReadonlyMap<string, ServedAgent>,
  client: Client,
): { id: string; owned_by: string }[] {
  return [...agents.values()]
    .filter(({ settings }) => client.mayUse(settings.name))
    .flatMap(({ settings: { name }, replicas }) => {
      const adapters = new Set(replicas.all.flatMap((replica) => [...replica.routable]));
      return [name, `${name}@base`, ...[...adapters].sort()].map((id) => ({ id, owned_by: name }));
    })
    .filter(({ id, owned_by }) => !agents.has(id) || id === owned_by);
}
