import { type AdapterWeight, mergedAdapterName } from '../routing/merged-adapter';

/** Merged adapters that conversations asked for last; the model servers hold these. */
export class MergedAdapters {
  /** Names of all merges that this process has asked for. */
  readonly everWanted = new Set<string>();
  private readonly recent = new Map<string, readonly AdapterWeight[]>();

  constructor(
    private readonly capacity: number,
    /** Told of a merge that was not wanted before. */
    private readonly onNew: () => void,
  ) {}

  /** Name of the merge; wanted from now on. */
  want(parts: readonly AdapterWeight[]): string {
    const name = mergedAdapterName(parts);
    const isNew = !this.recent.delete(name);
    this.recent.set(name, parts);
    this.everWanted.add(name);
    if (this.recent.size > this.capacity) this.recent.delete(this.recent.keys().next().value as string);
    if (isNew) this.onNew();
    return name;
  }

  /** Merges of adapters that are all among `served`. */
  of(served: ReadonlySet<string>): { name: string; parts: readonly AdapterWeight[] }[] {
    return [...this.recent]
      .filter(([, parts]) => parts.every(({ adapter }) => served.has(adapter)))
      .map(([name, parts]) => ({ name, parts }));
  }
}
