import type { RegistryVersion } from '../../contracts/artifacts/registry';

/** A conversation that has to be sent somewhere. */
export interface RoutingQuestion {
  version: RegistryVersion;
  /** Text of its first user turn. */
  task: string;
  /** Its key, where a model server has to be chosen for the router's call. */
  prefix: string;
}

/** A router's answer. */
export interface RoutingAnswer {
  /** A capability of the version, or `none`. */
  capabilityId: string;
  /** One word or two for the header x-whet-route and the metrics. */
  reason: string;
  probability: number | null;
  /** Probability mass on the menu's labels; null for routers without labels. */
  coveredMass: number | null;
  /** Adapters to be merged, their weights summing to 1; absent for one adapter. */
  mixture?: { adapter: string; weight: number }[];
}

/**
 * Decides once per conversation. A new router is one file that exports a function which makes one, and a line in
 * `index.ts`. It may take as long as it needs: the caller keeps the budget, and sends the conversation to base when it
 * is over or the router rejects.
 */
export interface Router {
  route(question: RoutingQuestion, signal: AbortSignal): Promise<RoutingAnswer>;
  /** Told of versions that will be asked about, for what takes longer than a conversation may wait. */
  prepare?(version: RegistryVersion): Promise<void>;
}
