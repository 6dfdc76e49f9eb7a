import type { RegistryVersion } from '../../contracts/artifacts/registry';
import type { RouterSettings } from '../../contracts/config/router-settings';
import { NONE_LABEL } from '../../contracts/names';
import { logitsOf, openVersion, type OpenedVersion, type ReadRouter } from '../../routing/version-router';
import { RecentCache } from '../../store';
import { askBaseModel } from './ask-base-model';
import type { ConversationRouter, RouterDeps } from './router';

/** Versions whose routers are kept in memory: the active one, the canary, and those before. */
const KEPT_VERSIONS = 4;

/** The router of the kind that the settings name. */
export function createRouter(settings: RouterSettings, deps: RouterDeps): ConversationRouter {
  switch (settings.kind) {
    case 'promoted':
      return versionRouter((version) => openVersion(version, deps.readJudgedRouter), 0, deps);
    case 'logits': {
      const read: ReadRouter = () => Promise.reject(new Error('The router `logits` is not read.'));
      const open = (version: RegistryVersion) => openVersion(version, read, logitsOf(version));
      return versionRouter(open, settings.minCoveredMass, deps);
    }
    case 'fixed':
      return fixedRouter(settings.capability);
  }
}

/**
 * Serves each version with a router of `routing/`, so that a conversation goes where the evaluation would have sent it.
 * An answer to the menu is not believed when its labels have less probability than `minCoveredMass`.
 */
function versionRouter(
  open: (version: RegistryVersion) => Promise<OpenedVersion>,
  minCoveredMass: number,
  deps: RouterDeps,
): ConversationRouter {
  const opened = new RecentCache<OpenedVersion>(KEPT_VERSIONS);
  const chooserOf = (version: RegistryVersion): Promise<OpenedVersion> =>
    opened.get(`${version.version}/${version.runId}`, () => open(version));
  return {
    prepare: async (version) => void (await chooserOf(version)),
    laterTurns: async (version) => (await chooserOf(version)).laterTurns,
    async route(question, signal) {
      const { version, task } = question;
      const chooser = await chooserOf(version);
      const answer = chooser.menu && (await askBaseModel(deps, chooser.menu, question, signal));
      const coveredMass = answer?.coveredMass ?? null;
      const choice = chooser.choose(task, answer);
      if (coveredMass !== null && coveredMass < minCoveredMass)
        return { ...choice, capabilityId: NONE_LABEL, reason: 'unreliable', coveredMass };
      return { ...choice, coveredMass };
    },
  };
}

/** Gives every conversation the same capability; `none` when the version does not have it. For comparisons. */
function fixedRouter(capability: string | undefined): ConversationRouter {
  return {
    route({ version }) {
      const chosen = capability ?? version.adapters[0]?.capabilityId;
      const isServed = version.adapters.some(({ capabilityId }) => capabilityId === chosen);
      return Promise.resolve({
        capabilityId: isServed && chosen !== undefined ? chosen : NONE_LABEL,
        reason: 'fixed',
        probability: null,
        coveredMass: null,
      });
    },
  };
}
