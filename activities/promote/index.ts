import { evaluationSchema } from '../../contracts/artifacts/evaluation';
import type { Canary, RegistryVersion } from '../../contracts/artifacts/registry';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { PromoteInput, PromoteResult } from '../../contracts/messages/evaluate-stage';
import { MIXED } from '../../contracts/names';
import { failure } from '../../contracts/typed-failure';
import { addVersion, type ArtifactStore, changeRegistry, getJson, StoreConflictError } from '../../store';
import { readPreparedSpec } from '../prepared-spec';
import { neededAdapters, type Router, routerSchema } from '../../routing/kinds';

/**
 * Activity: adds the adapters that help, with the router that they were judged with, as a new active version. A
 * repeated call for the same run returns the existing version. The workflow has checked the gate and the approval
 * before. Changes nothing and returns null when the active version is no longer the one that they were compared with.
 * Throws Promote.CanaryRuns while a canary runs, Promote.AdapterMissing when the router gives conversations to an
 * adapter that is not among these, and Promote.Conflict (retryable) when others keep changing the registry.
 */
export async function promoteAdapters(
  store: ArtifactStore,
  { context, adapters, capabilities, evaluation, router }: PromoteInput,
): Promise<PromoteResult> {
  const { baseModelSha256 } = await readPreparedSpec(store, context.spec);
  const { routedMinusBase, plan } = await getJson(store, evaluation, evaluationSchema);
  const judged = await getJson(store, router, routerSchema);
  const helping = servedBy(judged, adapters);
  requireAdapters(judged, helping);
  const summaries = new Map([
    [MIXED, 'everything that was trained, in one adapter'],
    ...capabilities.map(({ id, summary }): [string, string] => [id, summary]),
  ]);
  const version: Omit<RegistryVersion, 'version' | 'replaced'> = {
    runId: context.runId,
    createdAt: new Date().toISOString(),
    baseModelSha256,
    adapters: helping.map(({ name, capabilityId, key, sha256 }) => ({
      name,
      capabilityId,
      summary: summaries.get(capabilityId) ?? capabilityId,
      key,
      sha256,
    })),
    routedMinusBase,
    judgedRouter: { kind: judged.kind, artifact: router },
  };
  try {
    const { result } = await changeRegistry<number | null>(store, context.agent, (registry) => {
      const added = addVersion(registry, version);
      // The run has promoted already.
      if (!added.changed) return added;
      if (registry.active !== plan.active) return { registry, changed: false, result: null };
      if (registry.canary !== undefined) throw canaryRuns(context.agent, registry.canary);
      return added;
    });
    return { version: result };
  } catch (error) {
    if (error instanceof StoreConflictError) throw failure('Promote.Conflict', error.message, { cause: error });
    throw error;
  }
}

/** The adapters that a router uses. */
function servedBy(router: Router, adapters: readonly TrainedAdapter[]): TrainedAdapter[] {
  const needed = neededAdapters(router);
  if (router.kind === 'mixed' || router.kind === 'single')
    return adapters.filter(({ capabilityId }) => needed.includes(capabilityId));
  const mixedToo = needed.includes(MIXED);
  return adapters.filter(({ capabilityId }) =>
    capabilityId === MIXED ? mixedToo : !router.leftOut.includes(capabilityId),
  );
}

/** Refuses a version that lacks an adapter of its judged router. */
function requireAdapters(router: Router, served: readonly TrainedAdapter[]): void {
  const missing = neededAdapters(router).filter((id) => !served.some(({ capabilityId }) => capabilityId === id));
  if (missing.length === 0) return;
  throw failure(
    'Promote.AdapterMissing',
    `The judged router (${router.kind}) gives conversations to ${missing.join(', ')}, and the run has no such adapter ` +
      'to promote: what would be served is not what was judged.',
  );
}

function canaryRuns(agent: string, { version, share, startedAt }: Canary): Error {
  return failure(
    'Promote.CanaryRuns',
    `Version ${version} of ${agent} is a canary with ${Math.round(share * 100)} % of the conversations since ` +
      `${startedAt}. Promoting now would end it without a verdict.`,
  );
}
