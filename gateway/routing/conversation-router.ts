import type { RegistryVersion } from '../../contracts/artifacts/registry';
import { openVersion, type OpenedVersion, type ReadRouter } from '../../routing/version-router';
import { RecentCache } from '../../store';
import type { ReplicaSet } from '../upstream/replica-set';
import { askBaseModel } from './ask-base-model';

/** Number of versions whose routers stay in memory: the active version, the canary, and earlier ones. */
const KEPT_VERSIONS = 4;

/** A conversation that needs a router's choice. */
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
  /** The reason, in one or two words, for the header x-whet-route and the metrics. */
  reason: string;
  /** Calibrated probability of the choice; null if there is none. */
  probability: number | null;
  /** Total probability of the menu's labels; null for routers without labels. */
  coveredMass: number | null;
}

/** The sources from which one agent's router gets the base model and the routers of the versions. */
export interface RouterDeps {
  replicas: ReplicaSet;
  /** Served name of the base model. */
  baseModel: string;
  /** Reads the router that was judged with a version. Rejects if it cannot be read. */
  readJudgedRouter: ReadRouter;
}

/**
 * Serves each version with the router that was judged with it, so that each conversation goes to the same arm as in the
 * evaluation. The caller enforces the time limit.
 */
export class ConversationRouter {
  private readonly opened = new RecentCache<OpenedVersion>(KEPT_VERSIONS);

  constructor(private readonly deps: RouterDeps) {}

  /** A version's router. Rejects if it cannot be read. */
  open(version: RegistryVersion): Promise<OpenedVersion> {
    return this.opened.get(`${version.version}/${version.runId}`, () =>
      openVersion(version, this.deps.readJudgedRouter),
    );
  }

  /** Chooses a capability. Rejects if the router fails; `signal` fires when the time limit has passed. */
  async route(question: RoutingQuestion, signal: AbortSignal): Promise<RoutingAnswer> {
    const router = await this.open(question.version);
    const answer = router.menu && (await askBaseModel(this.deps, router.menu, question, signal));
    return { ...router.choose(question.task, answer), coveredMass: answer?.coveredMass ?? null };
  }
}
