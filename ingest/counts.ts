import type { ConversationFormat } from '../contracts/artifacts/conversation';

/** Places of a reason that are named. */
const NAMED_PLACES = 3;
/** Reasons that are told apart; further ones are counted together. */
const MOST_REASONS = 100;

/** What was left out for one reason. */
export interface LeftOutFor {
  reason: string;
  count: number;
  /** The first of them, as `file:line`. */
  places: string[];
}

/** What `whet ingest` says of one format. `format` null: of lines in none. */
export interface FormatCounts {
  format: ConversationFormat | null;
  /** Files with at least one record of it. */
  files: number;
  /** Records that were read. */
  records: number;
  /** Different conversations in the files. */
  conversations: number;
  /** Of these, the ones that were not stored in this form before. */
  added: number;
  /** Of these, the ones that were, so that nothing was added. */
  known: number;
  withOutcome: number;
  withoutOutcome: number;
  leftOut: LeftOutFor[];
}

/** Counts for each format what was read and what was left out. */
export class Counts {
  private readonly formats = new Map<ConversationFormat | null, FormatCounts & { seen: string | null }>();

  /** The counts of a format. */
  of(format: ConversationFormat | null): FormatCounts {
    let counts = this.formats.get(format);
    if (counts === undefined) {
      const numbers = { records: 0, conversations: 0, added: 0, known: 0, withOutcome: 0, withoutOutcome: 0 };
      counts = { format, files: 0, ...numbers, leftOut: [], seen: null };
      this.formats.set(format, counts);
    }
    return counts;
  }

  /** Counts a record of a file. */
  record(format: ConversationFormat, file: string): void {
    const counts = this.of(format) as FormatCounts & { seen: string | null };
    counts.records++;
    if (counts.seen !== file) counts.files++;
    counts.seen = file;
  }

  /** Counts something that was left out, `count` times. @param places those of the reason, as far as it has some. */
  leaveOut(
    format: ConversationFormat | null,
    reason: string,
    places: string | readonly string[] | null,
    count = 1,
  ): void {
    const { leftOut } = this.of(format);
    const named = leftOut.length < MOST_REASONS ? reason : 'further reasons';
    let entry = leftOut.find((one) => one.reason === named);
    if (entry === undefined) leftOut.push((entry = { reason: named, count: 0, places: [] }));
    entry.count += count;
    for (const place of [places ?? []].flat()) if (entry.places.length < NAMED_PLACES) entry.places.push(place);
  }

  /** All formats, the ones with the most conversations first. */
  get all(): FormatCounts[] {
    return [...this.formats.values()]
      .map(({ seen: _, ...counts }) => counts)
      .sort((a, b) => b.conversations - a.conversations || b.records - a.records);
  }
}
