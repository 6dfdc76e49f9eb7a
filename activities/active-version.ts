import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import type { Registry, RegistryVersion } from '../contracts/artifacts/registry';
import type { IncumbentVersion } from '../contracts/messages/evaluate-stage';
import { routerOfVersion } from '../routing/version-router';
import { type ArtifactStore, getJson, putJson } from '../store';
import { type Router, routerSchema } from '../routing/kinds';

/** The version that is served now; or, in a sentence, why there is none that this run can play. */
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

/** A version as activities play it. The paper's router of a version that names none is written into `folder`. */
export async function playableVersion(
  store: ArtifactStore,
  folder: string,
  version: RegistryVersion,
): Promise<IncumbentVersion> {
  const read = (artifact: Parameters<typeof getJson>[1]): Promise<Router> => getJson(store, artifact, routerSchema);
  const router =
    version.judgedRouter?.artifact ??
    (await putJson(store, folder, 'incumbent-router.json', await routerOfVersion(version, read)));
  return {
    version: version.version,
    runId: version.runId,
    adapters: version.adapters.map(({ name, capabilityId, key, sha256 }) => ({ name, capabilityId, key, sha256 })),
    capabilities: version.adapters.map(({ capabilityId: id, summary }) => ({ id, name: id, summary })),
    router,
  };
}
