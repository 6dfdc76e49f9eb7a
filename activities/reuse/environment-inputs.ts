import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { CapabilityBrief, RunContext } from '../../contracts/messages/run-context';
import { type ArtifactStore, readDictionary } from '../../store';
import { environmentKey, type ReuseKey } from './content-keys';

/** The run and the capability that need an environment. */
interface WantedEnvironment {
  context: RunContext;
  capability: CapabilityBrief;
}

/** The key of the certified environment of a capability, for the agent's current tools. */
export async function environmentKeyOf(
  store: ArtifactStore,
  { context: { agent }, capability }: WantedEnvironment,
  tools: readonly EnvironmentTool[],
): Promise<ReuseKey> {
  const { entries } = await readDictionary(store, agent);
  // The dictionary keeps the first wording of a capability for ever.
  const description = entries.find(({ id }) => id === capability.id)?.description ?? '';
  return environmentKey({ capability: { ...capability, description }, tools });
}
