/** A line of a traceback, as the environment runtime writes it: `environment.py:94 in evaluate: source`. */
const PLACE = /^.*\.py:\d+ in .*$/gm;

/**
 * Describes faults of an environment's code. Most checks find the same fault, often with another value in its message.
 * So each place is described in full only once.
 */
export class DeduplicatedFaults {
  /** Failed checks, by the places in their tracebacks. */
  private readonly checks = new Map<string, string[]>();

  /** The detail of a failed check; if an earlier check failed at the same place, only its message. */
  describe(check: string, detail: string): string {
    const places = detail.match(PLACE);
    if (places === null) return detail;
    const key = places.join('\n');
    const before = this.checks.get(key);
    this.checks.set(key, [...(before ?? []), check]);
    if (before === undefined) return detail;
    return `${detail.slice(0, detail.indexOf(places[0])).trimEnd()} (at the same place as ${before[0]})`;
  }

  /** A sentence for each place at which several checks failed. */
  sums(): string[] {
    return [...this.checks]
      .filter(([, checks]) => checks.length > 1)
      .map(([places, checks]) => `${checks.length} checks failed at ${places.split('\n').at(-1)}`);
  }
}
