import { type Dictionary, dictionarySchema } from '../contracts/artifacts/dictionary';
import type { ArtifactStore } from './artifact-store';
import { StoreConflictError } from './errors';
import { layout } from './layout';

/** Times a document is read again after somebody else changed it. */
const MAX_READS = 8;

/**
 * The capabilities that earlier runs of the agent know; empty before the first. Throws ZodError for a document that is
 * not a dictionary.
 */
export async function readDictionary(store: ArtifactStore, agent: string): Promise<Dictionary> {
  const document = await store.readDocument(layout.dictionary(agent));
  return document === null ? { agent, entries: [] } : dictionarySchema.parse(document.value);
}

/**
 * Replaces the agent's dictionary by compare-and-swap; when somebody else was faster, repeats the change on the new
 * document, at most 8 times. A change that gives an equal document writes nothing. Throws StoreConflictError when it
 * lost every time.
 */
export async function changeDictionary(
  store: ArtifactStore,
  agent: string,
  change: (dictionary: Dictionary) => Dictionary,
): Promise<Dictionary> {
  for (let read = 1; ; read++) {
    const document = await store.readDocument(layout.dictionary(agent));
    const before: Dictionary = document === null ? { agent, entries: [] } : dictionarySchema.parse(document.value);
    const after = dictionarySchema.parse(change(before));
    if (JSON.stringify(after) === JSON.stringify(before)) return after;
    try {
      await store.swapDocument(layout.dictionary(agent), after, document?.etag ?? null);
      return after;
    } catch (error) {
      if (!(error instanceof StoreConflictError) || read >= MAX_READS) throw error;
    }
  }
}
