import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import type { Registry, RegistryVersion } from '../contracts/artifacts/registry';
import type { IncumbentVersion } from '../contracts/messages/evaluate-stage';

/** The active version, or a sentence that says why this run cannot play it. */
export function activeVersion(
  { active, versions }: Registry,
  { baseModelSha256 }: Pick<PreparedSpec, 'baseModelSha256'>,
): RegistryVersion | string {
  if (active === null) return 'No version is active: the base model gets every conversation.';
  const version = versions.find((candidate) => candidate.version === active);
  if (version === undefined) return `Version ${active} is active, but the registry has lost it.`;
  if (version.adapters.length === 0)
    return `The active version ${active} has no adapters: the base model gets every conversation.`;
  if (version.baseModelSha256 !== baseModelSha256)
    return (
      `The active version ${active} was trained on another base model (${version.baseModelSha256.slice(0, 12)}, ` +
      `this run has ${baseModelSha256.slice(0, 12)}): its adapters do not fit, so it cannot be compared.`
    );
  return version;
}

/** A version as activities play it. */
export const playableVersion = ({ version, runId, adapters, judgedRouter }: RegistryVersion): IncumbentVersion => ({
  version,
  runId,
  adapters: adapters.map(({ name, capabilityId, key, sha256 }) => ({ name, capabilityId, key, sha256 })),
  capabilities: adapters.map(({ capabilityId: id, summary }) => ({ id, name: id, summary })),
  router: judgedRouter.artifact,
});
