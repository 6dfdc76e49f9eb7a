import type { Conversation, Outcome } from '../contracts/artifacts/conversation';
import {
  type ArtifactStore,
  type IngestedFile,
  ingestedConversations,
  ingestedOutcomes,
  layout,
  putLines,
} from '../store';

/** What was removed. */
export interface Forgotten {
  conversations: number;
  outcomes: number;
  /** Files with lines that could not be read, which were removed: nobody can tell of whom they are. */
  rejected: number;
}

/**
 * Removes a conversation from an agent's ingested ones: all its versions, the outcomes that name it, and the lines that
 * were kept aside. The rest of a file is written before the file is removed, so that a kill loses nothing else.
 * @param name its id or an alias of it.
 */
export async function forget(store: ArtifactStore, agent: string, name: string): Promise<Forgotten> {
  const names = new Set([name]);
  for await (const { lines } of ingestedConversations(store, agent))
    for (const line of lines) if (line?.id === name || line?.aliases?.includes(name)) names.add(line.id);
  const conversations = await without<Conversation>(
    store,
    ingestedConversations(store, agent),
    [layout.ingestedConversations(agent), 'conversations.jsonl'],
    ({ id }) => names.has(id),
  );
  const outcomes = await without<Outcome>(
    store,
    ingestedOutcomes(store, agent),
    [layout.ingestedOutcomes(agent), 'outcomes.jsonl'],
    ({ conversation }) => names.has(conversation),
  );
  let rejected = 0;
  if (conversations + outcomes > 0)
    for (const file of await store.list(layout.ingestedRejects(agent)))
      if (await store.remove(`${layout.ingestedRejects(agent)}/${file}`, Date.now() + 1_000)) rejected++;
  return { conversations, outcomes, rejected };
}

/** Writes files again without some of their lines. @returns the number of these lines. */
async function without<T>(
  store: ArtifactStore,
  files: AsyncIterable<IngestedFile<T>>,
  [directory, name]: readonly [string, string],
  goes: (line: T) => boolean,
): Promise<number> {
  let count = 0;
  for await (const { key, lines } of files) {
    const all = [...lines];
    const rest = all.filter((line) => line !== null && !goes(line));
    const gone = all.filter((line) => line !== null && goes(line)).length;
    if (gone === 0) continue;
    if (rest.length > 0) await putLines(store, directory, name, rest);
    await store.remove(key, Date.now() + 1_000);
    count += gone;
  }
  return count;
}
