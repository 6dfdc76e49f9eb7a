import { type ArtifactStore, changeRegistry, pruneVersions } from '../../store';
import { type GcInput, type GcPlan, idOf, MIN_AGE_MS, ownerOf, versionKeeper } from './plan';
import { isRun, type Unit, type UnitKind } from './units';

/** The questions that the removal asks before each step. */
export interface SweepQuestions {
  /** Whether this run or study has not ended now. */
  isOpen: (id: string) => Promise<boolean>;
  /** Whether a run is open now that was not open when the plan was made. */
  hasNewRun: () => Promise<boolean>;
  onRemoved: (removed: number, of: number) => void;
}

/** The result for a unit. `left`: it changed after the plan, or a run began. */
export interface Swept {
  removed: Unit[];
  left: Unit[];
}

/** Removes the planned versions from the registries, unless they are in use by now. */
export async function pruneRegistries(
  store: ArtifactStore,
  { versions }: GcPlan,
  input: Pick<GcInput, 'policy' | 'now' | 'facts'>,
): Promise<void> {
  for (const { agent, versions: planned } of versions) {
    const numbers = new Set(planned.map(({ version }) => version));
    await changeRegistry(store, agent, (registry) => {
      const isKept = versionKeeper(registry, input);
      return pruneVersions(registry, (version) => !numbers.has(version.version) || isKept(version));
    });
  }
}

/** Kinds of units that an open run may begin to use although its documents did not name them in the plan. */
const SHARED: readonly UnitKind[] = ['adapter', 'label segment', 'live traces'];

/**
 * Removes units, one after the other. A unit that was modified within the last day stays, and so does a currently open
 * run. Removing an already removed unit does nothing, so that two sweeps may run in parallel.
 */
export async function sweep(
  store: ArtifactStore,
  { goes }: GcPlan,
  now: number,
  { isOpen, hasNewRun, onRemoved }: SweepQuestions,
): Promise<Swept> {
  const swept: Swept = { removed: [], left: [] };
  // Removing a file changes the time of its folder, so whole units are removed first.
  const order = [...goes].sort((a, b) => rankOf(a) - rankOf(b));
  for (const unit of order) {
    const mayBeUsed =
      ((isRun(unit) || unit.kind === 'checkpoints') && (await isOpen(ownerOf(idOf(unit))))) ||
      (SHARED.includes(unit.kind) && (await hasNewRun()));
    const newest = unit.kind === 'leftover of a removal' ? Infinity : now - MIN_AGE_MS;
    if (!mayBeUsed && (await store.remove(unit.key, newest))) swept.removed.push(unit);
    else swept.left.push(unit);
    onRemoved(swept.removed.length, goes.length);
  }
  return swept;
}

const rankOf = ({ kind }: Unit): number => (kind === 'temporary file' || kind === 'checkpoints' ? 1 : 0);
