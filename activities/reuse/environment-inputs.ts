import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { CapabilityBrief, RunContext } from '../../contracts/messages/run-context';
import type { EnvironmentInput } from '../../contracts/messages/sharpen-stage';
import { type ArtifactStore, readDictionary } from '../../store';
import { type EnvironmentInputs, environmentKey, type ReuseKey } from './content-keys';
import { keepReusable } from './reuse-records';

/** The run and the capability that need an environment. */
interface WantedEnvironment {
  context: RunContext;
  capability: CapabilityBrief;
}

/** The key of the certified environment of a capability, for the agent's current tools. */
export const environmentKeyOf = async (
  store: ArtifactStore,
  wanted: WantedEnvironment,
  tools: readonly EnvironmentTool[],
): Promise<ReuseKey> => environmentKey(await environmentInputs(store, wanted, tools));

/** The wording of a capability in the agent's dictionary, and the agent's current tools. */
export async function environmentInputs(
  store: ArtifactStore,
  { context: { agent }, capability }: WantedEnvironment,
  tools: readonly EnvironmentTool[],
): Promise<EnvironmentInputs> {
  const { entries } = await readDictionary(store, agent);
  // The dictionary keeps the first wording of a capability for ever.
  const description = entries.find(({ id }) => id === capability.id)?.description ?? '';
  return { capability: { ...capability, description }, tools };
}

/** Saves an environment for later runs: it passed everything, for the agent's tools as they are today. */
export async function keepCertifiedEnvironment(
  store: ArtifactStore,
  { context, capability, source }: EnvironmentInput,
  tools: readonly EnvironmentTool[],
): Promise<void> {
  const key = await environmentKeyOf(store, { context, capability }, tools);
  await keepReusable(store, context.agent, key, { runId: context.runId, source });
}
