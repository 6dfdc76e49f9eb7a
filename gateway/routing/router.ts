import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { RegistryVersion } from '../../contracts/artifacts/registry';
import type { LaterTurnsReader } from '../../routing/later-turns';
import type { ReplicaSet } from '../upstream/replica-set';
import type { Router } from '../../routing/kinds';

/** A conversation for which a router has to choose. */
export interface RoutingQuestion {
  version: RegistryVersion;
  /** Text of its first user turn. */
  task: string;
  /** Key of the conversation. It selects the model server that the router asks. */
  prefix: string;
}

/** A router's answer. */
export interface RoutingAnswer {
  /** A capability of the version, or `none`. */
  capabilityId: string;
  /** Why, in one or two words, for the header x-whet-route and the metrics. */
  reason: string;
  /** Calibrated probability of the choice; null where there is none. */
  probability: number | null;
  /** Probability mass on the menu's labels; null for routers without labels. */
  coveredMass: number | null;
}

/**
 * Chooses a capability for a conversation. The caller enforces the time limit: when it is over, or when the router
 * rejects, the conversation goes to the base model.
 */
export interface ConversationRouter {
  /** Resolves with the choice. Rejects when there is none; `signal` aborts it when the time limit is over. */
  route(question: RoutingQuestion, signal: AbortSignal): Promise<RoutingAnswer>;
  /** Does, ahead of the first conversation of a version, what would take longer than a conversation may wait. */
  prepare?(version: RegistryVersion): Promise<void>;
  /** Reads later messages, for a version whose conversations may move; null when they stay where they began. */
  laterTurns?(version: RegistryVersion): Promise<LaterTurnsReader | null>;
}

/** What the routers of one agent work with, besides their settings. */
export interface RouterDeps {
  replicas: ReplicaSet;
  /** Served name of the base model. */
  baseModel: string;
  /** Reads the router that a version was judged with. Rejects when it cannot be read. */
  readJudgedRouter: (artifact: ArtifactRef) => Promise<Router>;
}
