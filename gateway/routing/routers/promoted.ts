import type { RegistryVersion } from '../../../contracts/artifacts/registry';
import { openVersion, type OpenedVersion } from '../../../contracts/routing/version-router';
import { RecentCache } from '../../../store';
import { askBaseModel } from '../ask-base-model';
import type { Router, RouterDeps } from '../router';

/** Versions whose routers are kept in memory: the active one, the canary, and those before. */
const KEPT_VERSIONS = 4;

/**
 * Serves each version with the router that it was judged with, so that a conversation goes where the evaluation would
 * have sent it. Versions from before routers competed were judged with the router `logits`.
 */
export function promotedRouter(_: unknown, deps: RouterDeps): Router {
  const choosers = new RecentCache<OpenedVersion>(KEPT_VERSIONS);
  const chooserOf = (version: RegistryVersion): Promise<OpenedVersion> =>
    choosers.get(`${version.version}/${version.runId}`, () => openVersion(version, deps.readJudgedRouter));
  return {
    prepare: async (version) => void (await chooserOf(version)),
    laterTurns: async (version) => (await chooserOf(version)).laterTurns,
    async route(question, signal) {
      const { version, task } = question;
      const chooser = await chooserOf(version);
      const answer = chooser.menu && (await askBaseModel(deps, chooser.menu, question, signal));
      return { ...chooser.choose(task, answer), coveredMass: answer?.coveredMass ?? null };
    },
  };
}
