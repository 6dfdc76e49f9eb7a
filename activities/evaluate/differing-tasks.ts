import { type RoutingRecord, routingRecordSchema } from '../../contracts/artifacts/evaluation';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { CompareInput, StoredAdapter } from '../../contracts/messages/evaluate-stage';
import { openLaterTurns } from '../../routing/later-turns';
import { type ArtifactStore, getJson, getLines, storedLines } from '../../store';
import { modelForLaterTurns } from './model-for-later-turns';
import { routerSchema } from '../../routing/kinds';

/** Represents the base model, whose name both sides share. */
const BASE = '';

/**
 * The number of held-out tasks that the candidate gives to another adapter than the active version does, at their
 * opening or at a later turn. Names of adapters contain the hash.
 */
export async function differingTasks(
  store: ArtifactStore,
  { adapters, mixed, router, arms }: CompareInput,
  incumbent: NonNullable<CompareInput['incumbent']>,
  routing: readonly RoutingRecord[],
): Promise<number> {
  const served = await getLines(store, incumbent.routing, routingRecordSchema);
  const before = openings(served, incumbent.adapters);
  // The candidate may also use the mixed adapter. That adapter keeps its conversations.
  const candidates = [...adapters, ...(mixed ? [mixed] : [])];
  const now = openings(routing, candidates);
  const differing = new Set([...now.keys()].filter((seed) => now.get(seed) !== before.get(seed)));
  const readers = {
    now: openLaterTurns(await getJson(store, router, routerSchema), capabilityIds(candidates)),
    before: openLaterTurns(await getJson(store, incumbent.router, routerSchema), capabilityIds(incumbent.adapters)),
  };
  const rollouts = arms.find(({ kind }) => kind === 'routed')?.rollouts.trajectories;
  if (rollouts === undefined || (!readers.now && !readers.before)) return differing.size;
  for await (const { task, messages } of await storedLines(store, trajectorySchema)(rollouts)) {
    const answerer = (opening: string, reader: typeof readers.before, known: readonly StoredAdapter[]) =>
      reader ? modelForLaterTurns(reader, known, opening) : () => opening;
    const one = answerer(now.get(task.seed) ?? BASE, readers.now, candidates);
    const other = answerer(before.get(task.seed) ?? BASE, readers.before, incumbent.adapters);
    // The two are compared before each answer of the agent, because at the end both may be back at their first model.
    const asked = messages.flatMap(({ role }, i) => (role === 'assistant' ? [messages.slice(0, i)] : []));
    if (asked.some((said) => one(said) !== other(said))) differing.add(task.seed);
  }
  return differing.size;
}

const capabilityIds = (adapters: readonly StoredAdapter[]): string[] =>
  adapters.map(({ capabilityId }) => capabilityId);

/** Name of the adapter for each task's opening. */
function openings(records: readonly RoutingRecord[], known: readonly StoredAdapter[]): Map<number, string> {
  const nameOf = new Map(known.map(({ capabilityId, name }) => [capabilityId, name]));
  return new Map(records.map(({ seed, capabilityId }) => [seed, nameOf.get(capabilityId) ?? BASE]));
}
