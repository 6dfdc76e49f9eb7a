import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { CapabilityBrief, RunContext } from '../../contracts/messages/run-context';
import { type ArtifactStore, readDictionary } from '../../store';
import { environmentKey, type ReuseKey } from './content-keys';

/** Rollouts of which the system messages are read. */
const MOST_ROLLOUTS = 200;

/** What an environment is for, and which trajectories show what its agent is told. */
interface WantedEnvironment {
  context: RunContext;
  capability: CapabilityBrief;
  trajectories: ArtifactRef;
}

/** Only these members, since a trajectory is large. */
const openingSchema = trajectorySchema.pick({ messages: true, task: true }).strip();

/** The key of the certified environment of a capability, for the agent's tools and system messages of today. */
export async function environmentKeyOf(
  store: ArtifactStore,
  { context: { agent }, capability, trajectories }: WantedEnvironment,
  tools: readonly EnvironmentTool[],
): Promise<ReuseKey> {
  const { entries } = await readDictionary(store, agent);
  // The dictionary keeps the first wording of a capability for ever.
  const description = entries.find(({ id }) => id === capability.id)?.description ?? '';
  const systemMessages = await systemMessagesOf(store, trajectories);
  return environmentKey({ capability: { ...capability, description }, tools, systemMessages });
}

/** The distinct system messages of the first rollouts, sorted. Live traffic, which comes last, does not count. */
async function systemMessagesOf(store: ArtifactStore, ref: ArtifactRef): Promise<string[]> {
  const found = new Set<string>();
  let rollouts = 0;
  for await (const { line } of store.lines(ref)) {
    const { messages, task } = openingSchema.parse(JSON.parse(line.toString('utf8')));
    if (task.split !== 'train' || ++rollouts > MOST_ROLLOUTS) break;
    for (const { role, content } of messages) if (role === 'system' && content !== null) found.add(content);
  }
  return [...found].sort();
}
