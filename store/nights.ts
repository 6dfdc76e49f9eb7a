import { type Nights, nightsSchema } from '../contracts/artifacts/night';
import type { ArtifactStore } from './artifact-store';
import { changeDocument } from './change-document';
import { layout } from './layout';

/** Largest number of nights, and of held-out blocks, in the document. */
const MOST_NIGHTS = 1_000;

/**
 * Changes the agent's nights by compare-and-swap. If the changed nights are equal, nothing is written. Throws
 * StoreConflictError if others were faster every time.
 */
export function changeNights(store: ArtifactStore, agent: string, change: (nights: Nights) => Nights): Promise<Nights> {
  return changeDocument(store, layout.nights(agent), (stored) => {
    const before = parseNights(agent, stored);
    const changed = change(before);
    const after = nightsSchema.parse({
      ...changed,
      nights: changed.nights.slice(-MOST_NIGHTS),
      ...(changed.heldOutBlocks && { heldOutBlocks: changed.heldOutBlocks.slice(-MOST_NIGHTS) }),
    });
    return JSON.stringify(after) === JSON.stringify(before) ? { result: after } : { value: after, result: after };
  });
}

/** The agent's nights; none if no run has begun. Throws StoreCorruptError and ZodError for a damaged document. */
export async function readNights(store: ArtifactStore, agent: string): Promise<Nights> {
  return parseNights(agent, (await store.readDocument(layout.nights(agent)))?.value);
}

const parseNights = (agent: string, stored: unknown): Nights =>
  stored === undefined ? { agent, nights: [], comparisons: [] } : nightsSchema.parse(stored);
