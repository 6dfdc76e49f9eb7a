import { type InputRecord, readRecords } from '../input/records';
import { inputPieces } from '../input/pieces';
import { idOf, type Scored } from '../fragment';
import { type Fields, fieldsOf, textOf } from '../values';
import { csvRows } from './csv';
import { outcomeOfLine } from './outcome-members';
import type { PassRule } from './outcome-value';

/** Members that name the conversation, in their order. */
const IDS = [
  ...['conversation', 'conversation_id', 'conversationid', 'id', 'trace_id', 'traceid', 'session_id', 'sessionid'],
  ...['thread_id', 'run_id', 'ticket_id', 'ticket', 'custom_id'],
];

/** A line of an owner's file of outcomes: what it says, or why it says nothing. */
export type OutcomeLine = { line: number } & ({ scored: Scored } | { reason: string });

/**
 * Reads a file of outcomes: JSON Lines or a list of JSON objects, or CSV with a header. A line names its conversation
 * and has an outcome.
 * @param rule names the column with the outcome, where there is such a column.
 * @throws as `readRecords`.
 */
export async function* readOutcomeFile(path: string, rule: PassRule | null): AsyncGenerator<OutcomeLine> {
  if (/\.[ct]sv(?:\.gz)?$/i.test(path)) {
    for await (const row of csvRows(inputPieces(path), /\.tsv/i.test(path) ? '\t' : ','))
      yield 'reason' in row ? row : lineOf(row.fields, row.line, rule);
    return;
  }
  for await (const record of readRecords(path))
    yield 'reason' in record
      ? { line: record.line, reason: record.reason }
      : lineOf(fieldsOf(record.value), record.line, rule);
}

function lineOf(record: Fields, line: InputRecord['line'], rule: PassRule | null): OutcomeLine {
  const names = new Map(Object.keys(record).map((name) => [name.toLowerCase().trim(), name]));
  const ids = IDS.flatMap((wanted) => {
    const name = names.get(wanted);
    return name === undefined ? [] : [record[name]];
  });
  const id = textOf(...ids.map((value) => (typeof value === 'number' ? String(value) : value)));
  if (id === null) return { line, reason: `no id (${IDS.slice(0, 5).join(', ')}, ...)` };
  const outcome = outcomeOfLine(record, rule);
  if (outcome === null) return { line, reason: 'no outcome (outcome, success, resolved, score, ...)' };
  return { line, scored: { conversation: idOf(id.trim()), ...outcome, from: 'file' } };
}
