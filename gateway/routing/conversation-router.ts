import type { RegistryVersion } from '../../contracts/artifacts/registry';
import { openVersion, type OpenedVersion, type ReadRouter } from '../../routing/version-router';
import { RecentCache } from '../../store';
import type { ReplicaSet } from '../upstream/replica-set';
import { askBaseModel } from './ask-base-model';

/** Versions whose routers are kept in memory: the active one, the canary, and those before. */
const KEPT_VERSIONS = 4;

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
  /** The reason, in one or two words, for the header x-whet-route and the metrics. */
  reason: string;
  /** Calibrated probability of the choice; null where there is none. */
  probability: number | null;
  /** Probability mass on the menu's labels; null for routers without labels. */
  coveredMass: number | null;
}

/** Where one agent's router finds the base model and the routers of the versions. */
export interface RouterDeps {
  replicas: ReplicaSet;
  /** Served name of the base model. */
  baseModel: string;
  /** Reads the router that a version was judged with. Rejects when it cannot be read. */
  readJudgedRouter: ReadRouter;
}

/**
 * Serves each version with the router that it was judged with, so that a conversation goes where the evaluation would
 * have sent it. The caller enforces the time limit.
 */
export class ConversationRouter {
  private readonly opened = new RecentCache<OpenedVersion>(KEPT_VERSIONS);

  constructor(private readonly deps: RouterDeps) {}

  /** A version's router. Rejects when it cannot be read. */
  open(version: RegistryVersion): Promise<OpenedVersion> {
    return this.opened.get(`${version.version}/${version.runId}`, () =>
      openVersion(version, this.deps.readJudgedRouter),
    );
  }

  /** Chooses a capability. Rejects when the router cannot; `signal` aborts it when the time limit is over. */
  async route(question: RoutingQuestion, signal: AbortSignal): Promise<RoutingAnswer> {
    const router = await this.open(question.version);
    const answer = router.menu && (await askBaseModel(this.deps, router.menu, question, signal));
    return { ...router.choose(question.task, answer), coveredMass: answer?.coveredMass ?? null };
  }
}
