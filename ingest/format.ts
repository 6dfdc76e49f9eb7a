import type { ConversationFormat } from '../contracts/artifacts/conversation';
import type { Sink } from './fragment';
import type { Fields } from './values';

/** Reads the records of one format. */
export interface Format {
  name: ConversationFormat;
  /**
   * Whether a record is of this format.
   * @param head members of the document that stand before the list whose element the record is.
   */
  detects(record: Fields, head: Fields): boolean;
  /** Passes on what a record says. @throws RecordFault, ZodError for a record that it cannot use. */
  read(record: Fields, head: Fields, sink: Sink): void;
}
