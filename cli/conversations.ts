import type { AgentSpec } from '../contracts/config/agent-spec';
import { conversationsOf } from '../contracts/config/environment-kinds';
import type { Trajectory } from '../contracts/artifacts/trajectory';
import { type ArtifactStore, type IngestedTraces, readIngested } from '../store';
import type { ReadConversations } from './estimate';

/** Roughly. */
const CHARACTERS_OF_TOKEN = 4;

/** The ingested conversations that a run on the agent would read; null if it plays tasks. */
export async function readIngestedOf(
  store: ArtifactStore,
  { name, environment }: Pick<AgentSpec, 'name' | 'environment'>,
  signal?: AbortSignal,
): Promise<IngestedTraces | null> {
  const wanted = conversationsOf(environment);
  if (wanted === null) return null;
  const { most } = wanted;
  return readIngested(store, name, { ...(most !== undefined && { most }), ...(signal && { signal }) });
}

/** How many different conversations these are, and how long. */
export function sizeOf(conversations: readonly Trajectory[]): ReadConversations {
  const own = new Map(conversations.map(({ id, messages }) => [id, messages]));
  let characters = 0;
  for (const messages of own.values())
    for (const { content, tool_calls: calls = [] } of messages)
      characters +=
        (content?.length ?? 0) + calls.reduce((sum, { function: called }) => sum + called.arguments.length, 0);
  return { count: own.size, ...(own.size > 0 && { tokens: characters / own.size / CHARACTERS_OF_TOKEN }) };
}
