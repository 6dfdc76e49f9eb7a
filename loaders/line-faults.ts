/** After this many faults the rest is not read. */
const MOST_FAULTS = 1_000;

/** The faults of a text's lines. Faults of a kind are one problem: the first of them, and how many there are. */
export class LineFaults {
  private readonly kinds = new Map<string, { first: string; count: number }>();
  private all = 0;

  /** Whether there are so many that no further line need be read. */
  get isFull(): boolean {
    return this.all >= MOST_FAULTS;
  }

  /** @param kind what faults of a kind have in common. Default: their words. */
  add(line: number, field: string, words: string, kind = words): void {
    this.all++;
    const key = JSON.stringify([field, kind]);
    const before = this.kinds.get(key);
    if (before !== undefined) before.count++;
    else this.kinds.set(key, { first: `line ${line}${field === '' ? '' : `, ${field}`}: ${words}`, count: 1 });
  }

  /** A sentence or more for each kind, in the order of their first lines. */
  get problems(): string[] {
    const least = this.isFull ? 'at least ' : '';
    return [...this.kinds.values()].map(({ first, count }) =>
      count === 1 ? first : `${first} This fault is in ${least}${count} lines.`,
    );
  }
}
