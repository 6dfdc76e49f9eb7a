import type { ServedAgent } from './served-agent';
import { ApiError } from '../http/errors';
import type { Client } from '../clients';
import { startOf } from '../../contracts/clean-text';

/** The meaning of a client's `model`. */
export interface ModelTarget {
  agent: ServedAgent;
  /** The adapter that the name selects; null for the base model. A null pin leaves the choice to the router. */
  pin: { adapter: string | null; version: number | null } | null;
}

/**
 * `<agent>` is routed, `<agent>@base` is the base model, and an adapter's immutable name is that adapter. Other names
 * are refused here, because a model server may load whatever directory it finds under a name. Throws ApiError 404 for a
 * name that does not exist, and for one of agents that the client may not use: it does not learn that these exist.
 */
export function resolveModel(name: string, agents: ReadonlyMap<string, ServedAgent>, client: Client): ModelTarget {
  // Agents may share an adapter, so the client's own are asked first.
  const own = find(name, agentsOf(agents, client));
  if (own !== null) return own;
  const quoted = JSON.stringify(startOf(name, 100));
  throw new ApiError(404, `The model ${quoted} does not exist; GET /v1/models lists the names.`, {
    param: 'model',
    code: 'model_not_found',
  });
}

/** The agents that a client may use. */
export const agentsOf = (agents: ReadonlyMap<string, ServedAgent>, client: Client): ServedAgent[] =>
  [...agents.values()].filter(({ settings }) => client.mayUse(settings.name));

function find(name: string, agents: readonly ServedAgent[]): ModelTarget | null {
  for (const agent of agents) {
    if (name === agent.settings.name) return { agent, pin: null };
    if (name === `${agent.settings.name}@base`) return { agent, pin: { adapter: null, version: null } };
  }
  for (const agent of agents) {
    const version = agent.adapterVersion(name);
    if (version !== null) return { agent, pin: { adapter: name, version: version.version } };
  }
  return null;
}

/** Names for GET /v1/models: the client's agents, their base models, and their adapters that are loaded now. */
export function modelNames(
  agents: ReadonlyMap<string, ServedAgent>,
  client: Client,
): { id: string; owned_by: string }[] {
  return agentsOf(agents, client)
    .flatMap((agent) => {
      const { name } = agent.settings;
      // Agents share model servers.
      const loaded = new Set(agent.replicas.all.flatMap((replica) => [...replica.routable]));
      const adapters = [...loaded].filter((adapter) => agent.adapterVersion(adapter) !== null);
      return [name, `${name}@base`, ...adapters.sort()].map((id) => ({ id, owned_by: name }));
    })
    .filter(({ id, owned_by }) => !agents.has(id) || id === owned_by);
}
