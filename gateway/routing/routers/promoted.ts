import type { RegistryVersion } from '../../../contracts/artifacts/registry';
import type { CompetitionRouter } from '../../../contracts/artifacts/router';
import { NONE_LABEL } from '../../../contracts/names';
import { type ArmChooser, openRouter } from '../../../contracts/routing/choose-arm';
import { UNCALIBRATED } from '../../../contracts/routing/routing-decision';
import { RecentCache } from '../../../store';
import { askBaseModel } from '../ask-base-model';
import { capabilitiesOf } from '../label-choice';
import type { Router, RouterDeps } from '../router';

/** Versions whose routers are kept in memory: the active one, the canary, and those before. */
const KEPT_VERSIONS = 4;

/**
 * Serves each version with the router that it was judged with, so that a conversation goes where the evaluation would
 * have sent it. Versions from before routers competed were judged with the router `logits`.
 */
export function promotedRouter(_: unknown, deps: RouterDeps): Router {
  const choosers = new RecentCache<ArmChooser>(KEPT_VERSIONS);
  const chooserOf = (version: RegistryVersion): Promise<ArmChooser> =>
    choosers.get(`${version.version}/${version.runId}`, async () => openRouter(await routerOf(version, deps)));
  return {
    prepare: async (version) => void (await chooserOf(version)),
    async route(question, signal) {
      const { version, task } = question;
      const chooser = await chooserOf(version);
      const answer = chooser.menu && (await askBaseModel(deps, chooser.menu, question, signal));
      const { capabilityId, reason, probability } = chooser.choose(task, answer);
      const served = capabilityId === NONE_LABEL || version.adapters.some((a) => a.capabilityId === capabilityId);
      return {
        capabilityId: served ? capabilityId : NONE_LABEL,
        reason: served ? reason : 'not-in-version',
        probability,
        coveredMass: answer?.coveredMass ?? null,
      };
    },
  };
}

async function routerOf(version: RegistryVersion, { readJudgedRouter }: RouterDeps): Promise<CompetitionRouter> {
  if (version.judgedRouter !== undefined) return readJudgedRouter(version.judgedRouter.artifact);
  return { kind: 'logits', leftOut: [], capabilities: capabilitiesOf(version), ...(version.router ?? UNCALIBRATED) };
}
