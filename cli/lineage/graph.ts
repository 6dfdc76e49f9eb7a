/** Kinds of items in the store; each kind is made from earlier kinds. */
export const LINEAGE_KINDS = [
  'trajectory',
  'capability',
  'environment',
  'training',
  'adapter',
  'version',
  'conversation',
] as const;
/** One of them. */
export type LineageKind = (typeof LINEAGE_KINDS)[number];

/** An item in the store. */
export interface LineageItem {
  kind: LineageKind;
  /** The name that people use, and that `whet lineage` accepts. */
  id: string;
  agent: string;
  /** Further facts. */
  about: string;
}

/** Keys of the graph. A capability belongs to a run, because each run has its own evidence. */
export const keys = {
  trajectory: (id: string) => `trajectory ${id}`,
  capability: (runId: string, id: string) => `capability ${runId}/${id}`,
  environment: (sha256: string) => `environment ${sha256}`,
  training: (runId: string, job: string) => `training ${runId}/${job}`,
  adapter: (sha256: string) => `adapter ${sha256}`,
  version: (agent: string, version: number) => `version ${agent}@${version}`,
  conversation: (id: string) => `conversation ${id}`,
};

/** Items in the store, with the origins of each. A capability occurs once for each run that kept it. */
export class LineageGraph {
  private readonly items = new Map<string, LineageItem>();
  private readonly from = new Map<string, Set<string>>();
  private readonly to = new Map<string, Set<string>>();

  /** Adds an item, or its `about` if that is still empty. `key` is unique in the whole store. */
  add(key: string, item: LineageItem): void {
    const before = this.items.get(key);
    this.items.set(key, before?.about ? before : item);
  }

  /** `later` was made from `earlier`. */
  link(earlier: string, later: string): void {
    this.to.set(earlier, (this.to.get(earlier) ?? new Set()).add(later));
    this.from.set(later, (this.from.get(later) ?? new Set()).add(earlier));
  }

  /** Keys and items that match. */
  find(fits: (item: LineageItem, key: string) => boolean): [key: string, item: LineageItem][] {
    return [...this.items].filter(([key, item]) => fits(item, key));
  }

  /** All origins of these items, over any number of steps. */
  ancestors(keys: readonly string[]): LineageItem[] {
    return this.reach(keys, this.from);
  }

  /** All results of these items. */
  descendants(keys: readonly string[]): LineageItem[] {
    return this.reach(keys, this.to);
  }

  private reach(start: readonly string[], next: ReadonlyMap<string, ReadonlySet<string>>): LineageItem[] {
    const seen = new Set(start);
    const queue = [...start];
    for (let key = queue.pop(); key !== undefined; key = queue.pop())
      for (const other of next.get(key) ?? [])
        if (!seen.has(other)) {
          seen.add(other);
          queue.push(other);
        }
    for (const key of start) seen.delete(key);
    return [...seen].flatMap((key) => this.items.get(key) ?? []);
  }
}
