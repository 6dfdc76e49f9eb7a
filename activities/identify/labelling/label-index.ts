/**
 * The index of an agent's label cache: it finds the labels of a trajectory by its id (docs/adr/0013). It consists of
 * small pages, so that the cost of a lookup does not grow with the history. It contains only data of the label
 * segments, and is rebuilt if a part of it is damaged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { labelRecordSchema, type LabelRecord } from '../../../contracts/artifacts/identification';
import { StoreConflictError, StoreCorruptError, type ArtifactStore } from '../../../store';
import { inParallel } from '../../in-parallel';

/**
 * A page has the trajectories whose ids begin with the same hex digits; this is the number of these digits. There are
 * so many pages that each has few trajectories. So a lookup of one trajectory reads little about others.
 */
const DIGITS = 4;
/** Number of leading digits that select a page's folder. */
const FOLDER_DIGITS = 2;
/** A page with more characters is divided by the next digit. */
const MOST_CHARACTERS = 32_768;
/** Length of the prefix of a trajectory's id that pages store, in hex digits. */
const ENTRY_DIGITS = 16;
/** Number of pages that are read or written in parallel. */
const PARALLEL = 16;

/** Number of tries to change a page that others change at the same time. */
const MOST_TRIES = 20;

/** Labels of one trajectory by their keys. */
const entrySchema = z.record(z.string(), labelRecordSchema.omit({ trajectoryId: true, key: true }));
type Entry = z.infer<typeof entrySchema>;

const pageSchema = z.object({
  /** Whether the entries are in the pages with one digit more. */
  divided: z.boolean(),
  /** Keyed by the beginning of a trajectory's id. */
  entries: z.record(z.string(), entrySchema),
});
type Page = z.infer<typeof pageSchema>;

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
  /** The generation that lookups read; undefined before the first lookup. */
  private current: number | null | undefined;

  /**
   * @param directory folder of the index.
   * @param everything gives all labels of the segments in portions, for a new index. It may be slow.
   * @param signal ends every operation when it fires.
   */
  constructor(
    private readonly store: ArtifactStore,
    private readonly directory: string,
    private readonly everything: () => AsyncIterable<readonly LabelRecord[]>,
    readonly signal: AbortSignal,
  ) {}

  /**
   * The labels of these trajectories, by trajectory. If there is no complete index, it builds one first.
   * @param onBuild is called before that.
   */
  async find(ids: readonly string[], onBuild: () => void = () => undefined): Promise<Map<string, LabelRecord[]>> {
    this.current ??= (await this.generations()).current;
    try {
      if (this.current !== null) return await this.lookUp(this.current, ids);
    } catch (error) {
      if (!(error instanceof DamagedPageError)) throw error;
    }
    onBuild();
    this.current = await this.build();
    return this.lookUp(this.current, ids);
  }

  /**
   * Files labels. Entries that the index already has are not written again. A generation that another process is
   * building gets them as well, because its builder may have read the segments before these labels were there.
   */
  async file(labels: readonly LabelRecord[]): Promise<void> {
    const { all, current } = await this.generations();
    for (const generation of all.filter((number) => number >= (current ?? 0))) await this.fileInto(generation, labels);
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

  private async build(): Promise<number> {
    const { all } = await this.generations();
    const generation = (all[0] ?? 0) + 1;
    const directory = `${this.directory}/${generation}`;
    await this.write(`${directory}/begun.json`);
    for await (const labels of this.everything()) await this.fileInto(generation, labels);
    await this.write(`${directory}/complete.json`);
    return generation;
  }

  /** Several builders may build the same generation, because they write the same content. */
  private async write(key: string): Promise<void> {
    try {
      await this.store.swapDocument(key, { at: new Date().toISOString() }, null);
    } catch (error) {
      if (!(error instanceof StoreConflictError)) throw error;
    }
  }

  private async lookUp(generation: number, ids: readonly string[]): Promise<Map<string, LabelRecord[]>> {
    const found = new Map<string, LabelRecord[]>();
    const look = async (prefix: string, wanted: readonly string[]): Promise<void> => {
      const { page } = await this.read(generation, prefix);
      for (const id of wanted) {
        const entry = page.entries[entryOf(id)];
        if (entry === undefined) continue;
        found.set(
          id,
          Object.entries(entry).map(([key, label]) => ({ ...label, trajectoryId: id, key })),
        );
      }
      if (page.divided) for (const [longer, some] of byPrefix(wanted, prefix.length + 1)) await look(longer, some);
    };
    // In an agent's first nights most pages do not exist yet: one listing is cheaper than a failed read of each.
    const folders = new Set(await this.store.list(`${this.directory}/${generation}`));
    const pages = byPrefix(ids, DIGITS).filter(([prefix]) => folders.has(folderOf(prefix)));
    await inParallel(pages, PARALLEL, this, ([prefix, wanted]) => look(prefix, wanted));
    return found;
  }

  private fileInto(generation: number, labels: readonly LabelRecord[]): Promise<void> {
    const added: Page['entries'] = {};
    for (const { trajectoryId, key, ...label } of labels) {
      const entry = (added[entryOf(trajectoryId)] ??= {});
      if (isMore(label, entry[key])) entry[key] = label;
    }
    // A page that cannot be read is left out. The next lookup of it builds a new generation from the segments.
    return inParallel(byPrefix(Object.keys(added), DIGITS), PARALLEL, this, ([prefix, entries]) =>
      this.fileIntoPage(generation, prefix, pick(added, entries)).catch(orIfDamaged(undefined)),
    );
  }

  /**
   * Adds entries to a page. A page that is too large is divided. Its entries are first written to the pages of the
   * longer prefixes, and only then removed here. A reader in between still finds them here.
   */
  private async fileIntoPage(generation: number, prefix: string, added: Page['entries']): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { page, version } = await this.read(generation, prefix);
      const entries = page.divided ? added : merged(page.entries, added);
      if (entries === null) return;
      const isFull = page.divided || isOverfull(entries);
      if (isFull) {
        for (const [longer, some] of byPrefix(Object.keys(entries), prefix.length + 1))
          await this.fileIntoPage(generation, longer, pick(entries, some));
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
    return `${this.directory}/${generation}/${folderOf(prefix)}/${prefix}.json`;
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

const folderOf = (prefix: string): string => prefix.slice(0, FOLDER_DIGITS);

const entryOf = (id: string): string => id.slice(0, ENTRY_DIGITS);

/** Ids by their first digits. */
const byPrefix = (ids: readonly string[], digits: number): [string, string[]][] => [
  ...Map.groupBy(ids, (id) => id.slice(0, digits)),
];

/** Entries with the added labels; null if all of them exist already. */
function merged(entries: Page['entries'], added: Page['entries']): Page['entries'] | null {
  const after = { ...entries };
  let isChanged = false;
  for (const [id, labels] of Object.entries(added)) {
    const before = after[id] ?? {};
    const more = Object.entries(labels).filter(([key, label]) => isMore(label, before[key]));
    if (more.length === 0) continue;
    after[id] = { ...before, ...Object.fromEntries(more) };
    isChanged = true;
  }
  return isChanged ? after : null;
}

/** Of several labels with one key, the first counts; a refusal counts only while there is no label. */
const isMore = ({ label }: Entry[string], before: Entry[string] | undefined): boolean =>
  before === undefined || (before.label === null && label !== null);

/** A page of one trajectory cannot be divided. */
const isOverfull = (entries: Page['entries']): boolean =>
  Object.keys(entries).length > 1 && JSON.stringify(entries).length > MOST_CHARACTERS;

const pick = (entries: Page['entries'], ids: readonly string[]): Page['entries'] =>
  Object.fromEntries(ids.map((id) => [id, entries[id] ?? {}]));
