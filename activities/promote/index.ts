import { evaluationSchema } from '../../contracts/artifacts/evaluation';
import type { RegistryVersion } from '../../contracts/artifacts/registry';
import { routerSchema } from '../../contracts/artifacts/router';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { PromoteInput, PromoteResult } from '../../contracts/messages/evaluate-stage';
import { failure } from '../../contracts/typed-failure';
import { addVersion, type ArtifactStore, changeRegistry, getJson, StoreConflictError } from '../../store';
import { readPreparedSpec } from '../prepared-spec';

/** Dependencies of `promoteAdapters`. */
export interface PromoteDeps {
  store: ArtifactStore;
  /** Wall clock, for `createdAt`. Default: the machine's. */
  now?: () => Date;
}

/** The activity that puts a run's adapters into the agent's registry. */
export function createPromoteActivities({
  store,
  now = () => new Date(),
}: PromoteDeps): Pick<OrchestrationActivities, 'promoteAdapters'> {
  return {
    /**
     * Adds the adapters that help, with the router that they were judged with, as a new active version. A repeated call
     * for the same run returns the existing version. The workflow has checked the gate and the approval before. Throws
     * Promote.Conflict (retryable) when others keep changing the registry.
     */
    async promoteAdapters({
      context,
      adapters,
      capabilities,
      evaluation,
      router,
    }: PromoteInput): Promise<PromoteResult> {
      const { baseModelSha256 } = await readPreparedSpec(store, context.spec);
      const { routedMinusBase } = await getJson(store, evaluation, evaluationSchema);
      const judged = router && (await getJson(store, router, routerSchema));
      const helping = adapters.filter(({ capabilityId }) => !judged?.leftOut.includes(capabilityId));
      const summaries = new Map(capabilities.map((capability) => [capability.id, capability.summary]));
      const version: Omit<RegistryVersion, 'version'> = {
        runId: context.runId,
        createdAt: now().toISOString(),
        baseModelSha256,
        adapters: helping.map(({ name, capabilityId, key, sha256 }) => ({
          name,
          capabilityId,
          summary: summaries.get(capabilityId) ?? capabilityId,
          key,
          sha256,
        })),
        routedMinusBase,
        ...(router && judged && { judgedRouter: { kind: judged.kind, artifact: router } }),
      };
      try {
        return {
          version: (await changeRegistry(store, context.agent, (registry) => addVersion(registry, version))).result,
        };
      } catch (error) {
        if (error instanceof StoreConflictError) throw failure('Promote.Conflict', error.message, { cause: error });
        throw error;
      }
    },
  };
}
