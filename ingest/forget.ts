import type { Conversation, Outcome } from '../contracts/artifacts/conversation';
import { type ArtifactStore, type IngestedFile, ingestedConversations, ingestedOutcomes, layout } from '../store';

/** What was removed. */
export interface Forgotten {
  conversations: number;
  outcomes: number;
  /** Files with lines that could not be read, which were removed: nobody can tell of whom they are. */
  rejected: number;
}

/**
 * Removes a conversation from an agent's ingested ones: all its versions, the outcomes that name it, and the lines that
 * were kept aside. An outcome may name it by an alias; one that another conversation has too stays. The rest of a file
 * is written before the file is removed, so that a kill loses nothing else. Lines that this version cannot read stay.
 * @param name its id or an alias of it.
 */
export async function forget(store: ArtifactStore, agent: string, name: string): Promise<Forgotten> {
  const ids = new Set([name]);
  for await (const { lines } of ingestedConversations(store, agent))
    for (const line of lines) if (line?.id === name || line?.aliases?.includes(name)) ids.add(line.id);
  const names = new Set(ids);
  for await (const { lines } of ingestedConversations(store, agent))
    for (const line of lines)
      for (const alias of line?.aliases ?? []) if (line !== null && ids.has(line.id)) names.add(alias);
  for await (const { lines } of ingestedConversations(store, agent))
    for (const line of lines)
      if (line !== null && !ids.has(line.id)) for (const one of [line.id, ...(line.aliases ?? [])]) names.delete(one);
  // Outcomes first: after a kill, the conversation still tells their names.
  const outcomes = await without<Outcome>(
    store,
    ingestedOutcomes(store, agent),
    [layout.ingestedOutcomes(agent), 'outcomes.jsonl'],
    ({ conversation }) => names.has(conversation),
  );
  const conversations = await without<Conversation>(
    store,
    ingestedConversations(store, agent),
    [layout.ingestedConversations(agent), 'conversations.jsonl'],
    ({ id }) => ids.has(id),
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
  for await (const { key, lines, bytesOf } of files) {
    const rest: Buffer[] = [];
    let gone = 0;
    let place = 0;
    for (const line of lines) {
      if (line !== null && goes(line)) gone++;
      else rest.push(bytesOf(place), Buffer.from('\n'));
      place++;
    }
    if (gone === 0) continue;
    if (rest.length > 0) await store.put(directory, name, Buffer.concat(rest), { mediaType: 'application/jsonl' });
    await store.remove(key, Date.now() + 1_000);
    count += gone;
  }
  return count;
}
