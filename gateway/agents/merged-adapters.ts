import { type AdapterWeight, mergedAdapterName } from '../routing/merged-adapter';

/** The merged adapters that conversations needed most recently. The model servers hold these. */
export class MergedAdapters {
  /** Names of all merged adapters that this process has ever needed. */
  readonly everWanted = new Set<string>();
  private readonly recent = new Map<string, readonly AdapterWeight[]>();

  constructor(
    private readonly capacity: number,
    /** Called when a merged adapter is needed that was not held before. */
    private readonly onNew: () => void,
  ) {}

  /** Name of the adapter that is merged from these parts. The model servers should have it from now on. */
  want(parts: readonly AdapterWeight[]): string {
    const name = mergedAdapterName(parts);
    const isNew = !this.recent.delete(name);
    this.recent.set(name, parts);
    this.everWanted.add(name);
    if (this.recent.size > this.capacity) this.recent.delete(this.recent.keys().next().value as string);
    if (isNew) this.onNew();
    return name;
  }

  /** Those whose parts are all in `served`. */
  madeOf(served: ReadonlySet<string>): { name: string; parts: readonly AdapterWeight[] }[] {
    return [...this.recent]
      .filter(([, parts]) => parts.every(({ adapter }) => served.has(adapter)))
      .map(([name, parts]) => ({ name, parts }));
  }
}
