/**
 * The index of an agent's label cache: where labels of a trajectory lie (docs/adr/0013). It is made of pages,
 * so that the cost of a lookup does not grow with the history. It holds nothing that the label segments do not, and is
 * built again when a part of it is damaged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { StoreConflictError, StoreCorruptError, type ArtifactStore } from '../../../store';
import { inParallel } from '../../in-parallel';
import { withPlaces } from './label-place';

/** A page begins with this many hex digits of the trajectory ids. */
const DIGITS = 3;
/** A page with more trajectories divides by the next digit. */
const MOST_ENTRIES = 48;
/** Part of a trajectory's id by which pages know it, in hex digits. */
const ENTRY_DIGITS = 16;
/** Pages that are read or written at the same time. */
const PARALLEL = 16;

/** How often the change of a page is tried when others change it at the same time. */
const MOST_TRIES = 20;

const pageSchema = z.object({
  /** The entries are in the pages with one digit more. */
  divided: z.boolean(),
  /** By the beginning of a trajectory's id: the places where labels of it lie. */
  entries: z.record(z.string(), z.array(z.string()).readonly()),
});
type Page = z.infer<typeof pageSchema>;

/** Trajectory ids with the places where labels of them lie, as `formatPlace` writes them. */
export type LabelPlaces = ReadonlyMap<string, readonly string[]>;

/** A page of the index cannot be read. */
class DamagedPageError extends Error {}

const orIfDamaged =
  <T>(otherwise: T) =>
  (error: unknown): T => {
    if (error instanceof DamagedPageError) return otherwise;
    throw error;
  };

/** The index in one folder of the store. */
export class LabelIndex {
  /**
   * @param directory of the index.
   * @param everything gives the places of all labels, for a new index. It may be slow.
   * @param signal ends every operation when it is aborted.
   */
  constructor(
    private readonly store: ArtifactStore,
    private readonly directory: string,
    private readonly everything: () => Promise<LabelPlaces>,
    readonly signal: AbortSignal,
  ) {}

  /**
   * The places where labels of these trajectories may lie. Where there is no whole index, builds one first.
   * @param onBuild is called before that.
   */
  async find(ids: readonly string[], onBuild: () => void): Promise<Map<string, readonly string[]>> {
    const { current } = await this.generations();
    try {
      if (current !== null) return await this.lookUp(current, ids);
    } catch (error) {
      if (!(error instanceof DamagedPageError)) throw error;
    }
    onBuild();
    const places = await this.build();
    return new Map(ids.flatMap((id) => (places.has(id) ? [[id, places.get(id) ?? []]] : [])));
  }

  /**
   * Notes where labels lie. What the index has already is not written again. A generation that somebody is building
   * gets the note as well: its builder may have read the segments before these labels were there.
   */
  async file(places: LabelPlaces): Promise<void> {
    const { all, current } = await this.generations();
    for (const generation of all.filter((number) => number >= (current ?? 0))) await this.fileInto(generation, places);
  }

  private async generations(): Promise<{ all: number[]; current: number | null }> {
    const names = await this.store.list(this.directory);
    const all = names.flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : [])).sort((a, b) => b - a);
    for (const number of all) {
      const complete = await this.document(`${this.directory}/${number}/complete.json`).catch(orIfDamaged(null));
      if (complete !== null) return { all, current: number };
    }
    return { all, current: null };
  }

  private async build(): Promise<LabelPlaces> {
    const { all } = await this.generations();
    const generation = (all[0] ?? 0) + 1;
    const directory = `${this.directory}/${generation}`;
    await this.write(`${directory}/begun.json`);
    const places = await this.everything();
    await this.fileInto(generation, places);
    await this.write(`${directory}/complete.json`);
    return places;
  }

  /** Several builders may build the same generation: they write the same into it. */
  private async write(key: string): Promise<void> {
    try {
      await this.store.swapDocument(key, { at: new Date().toISOString() }, null);
    } catch (error) {
      if (!(error instanceof StoreConflictError)) throw error;
    }
  }

  private async lookUp(generation: number, ids: readonly string[]): Promise<Map<string, readonly string[]>> {
    const found = new Map<string, readonly string[]>();
    const look = async (prefix: string, wanted: readonly string[]): Promise<void> => {
      const { page } = await this.read(generation, prefix);
      for (const id of wanted) {
        const places = page.entries[entryOf(id)];
        if (places !== undefined) found.set(id, places);
      }
      if (page.divided) for (const [longer, some] of byPrefix(wanted, prefix.length + 1)) await look(longer, some);
    };
    await inParallel(byPrefix(ids, DIGITS), PARALLEL, this, ([prefix, wanted]) => look(prefix, wanted));
    return found;
  }

  private fileInto(generation: number, places: LabelPlaces): Promise<void> {
    const added = new Map([...places].map(([id, names]) => [entryOf(id), names]));
    // A page that cannot be read is left out: who looks it up builds a new generation from the segments.
    return inParallel(byPrefix([...added.keys()], DIGITS), PARALLEL, this, ([prefix, entries]) =>
      this.fileIntoPage(generation, prefix, new Map(entries.map((entry) => [entry, added.get(entry) ?? []]))).catch(
        orIfDamaged(undefined),
      ),
    );
  }

  /**
   * Adds entries to a page. An overfull page is divided: first its entries go to the longer prefixes, then it says so.
   * Who reads in between finds them here.
   */
  private async fileIntoPage(generation: number, prefix: string, added: LabelPlaces): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { page, version } = await this.read(generation, prefix);
      const entries = page.divided ? Object.fromEntries(added) : merged(page.entries, added);
      if (entries === null) return;
      const isFull = page.divided || Object.keys(entries).length > MOST_ENTRIES;
      if (isFull) {
        for (const [longer, some] of byPrefix(Object.keys(entries), prefix.length + 1))
          await this.fileIntoPage(generation, longer, new Map(some.map((entry) => [entry, entries[entry] ?? []])));
        if (page.divided) return;
      }
      try {
        const after: Page = isFull ? { divided: true, entries: {} } : { divided: false, entries };
        await this.store.swapDocument(this.pageKey(generation, prefix), after, version);
        return;
      } catch (error) {
        if (!(error instanceof StoreConflictError) || attempt === MOST_TRIES) throw error;
        await sleep(Math.random() * 20 * attempt);
      }
    }
  }

  private async read(generation: number, prefix: string): Promise<{ page: Page; version: string | null }> {
    const document = await this.document(this.pageKey(generation, prefix));
    if (document === null) return { page: { divided: false, entries: {} }, version: null };
    const page = pageSchema.safeParse(document.value);
    if (!page.success) throw new DamagedPageError(prefix);
    return { page: page.data, version: document.version };
  }

  private pageKey(generation: number, prefix: string): string {
    return `${this.directory}/${generation}/${prefix}.json`;
  }

  private async document(key: string) {
    try {
      return await this.store.readDocument(key);
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof StoreCorruptError) throw new DamagedPageError(key);
      throw error;
    }
  }
}

const entryOf = (id: string): string => id.slice(0, ENTRY_DIGITS);

/** Ids by their first digits. */
function byPrefix(ids: readonly string[], digits: number): [string, string[]][] {
  const groups = new Map<string, string[]>();
  for (const id of ids) {
    const prefix = id.slice(0, digits);
    const group = groups.get(prefix);
    if (group) group.push(id);
    else groups.set(prefix, [id]);
  }
  return [...groups];
}

/** Entries with the added places; null if all of them are there. */
function merged(entries: Page['entries'], added: LabelPlaces): Page['entries'] | null {
  const after = { ...entries };
  let isChanged = false;
  for (const [entry, names] of added) {
    const before = after[entry] ?? [];
    const together = withPlaces(before, names);
    if (together.join() === before.join()) continue;
    after[entry] = together;
    isChanged = true;
  }
  return isChanged ? after : null;
}
