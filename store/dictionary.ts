import { type Dictionary, dictionarySchema } from '../contracts/artifacts/dictionary';
import type { ArtifactStore } from './artifact-store';
import { changeDocument } from './change-document';
import { layout } from './layout';

/**
 * Reads the capabilities that earlier runs of the agent found; empty before the first run. Throws ZodError for a
 * document that is not a dictionary.
 */
export async function readDictionary(store: ArtifactStore, agent: string): Promise<Dictionary> {
  return parseDictionary(agent, (await store.readDocument(layout.dictionary(agent)))?.value);
}

/**
 * Changes the agent's dictionary by compare-and-swap (see `changeDocument`). If the changed dictionary is equal,
 * nothing is written. Throws StoreConflictError if others were faster every time.
 */
export function changeDictionary(
  store: ArtifactStore,
  agent: string,
  change: (dictionary: Dictionary) => Dictionary,
): Promise<Dictionary> {
  return changeDocument(store, layout.dictionary(agent), (stored) => {
    const before = parseDictionary(agent, stored);
    const after = dictionarySchema.parse(change(before));
    return JSON.stringify(after) === JSON.stringify(before) ? { result: after } : { value: after, result: after };
  });
}

function parseDictionary(agent: string, stored: unknown): Dictionary {
  return stored === undefined ? { agent, entries: [] } : dictionarySchema.parse(stored);
}
