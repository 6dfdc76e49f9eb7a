import { ZodError } from 'zod';
import { type ConversationFormat, conversationSchema } from '../contracts/artifacts/conversation';
import { startOf } from '../contracts/clean-text';
import type { Redaction } from '../contracts/redact-message';
import { makeTemporaryFolder, removeLeftFolders, removeTemporaryFolder } from '../contracts/temporary-folders';
import { DialectError } from '../dialects';
import { type ArtifactStore, layout, putLines, StoreCorruptError } from '../store';
import { Counts, type FormatCounts, type LeftOutFor } from './counts';
import type { Format } from './format';
import { FORMATS } from './formats';
import { type Fragment, RecordFault, type Scored, type Sink } from './fragment';
import { inputFiles } from './input/files';
import { InputFault } from './input/pieces';
import { type InputRecord, readRecords } from './input/records';
import { merged } from './merge';
import { decided } from './outcomes/decide';
import { readOutcomeFile } from './outcomes/outcome-file';
import { type PassRule, shownValue } from './outcomes/outcome-value';
import { Scales } from './outcomes/scales';
import { Unmatched } from './outcomes/unmatched';
import { Spool } from './spool';
import { Known, putInArtifacts } from './store-results';
import { isFields } from './values';

/** Lines that could not be read: most that are kept aside, and most characters of one. */
const MOST_REJECTS = 10_000;
const LONGEST_REJECT = 10_000;
/** Names of scores that are counted apart. */
const MOST_NAMES = 20;

const DISAGREE = 'traces of one conversation passed and failed: give its own outcome with --outcomes';

/** What is ingested, and how. */
export interface IngestOptions {
  agent: string;
  /** Files and folders. */
  files: readonly string[];
  /** Null: it is detected for each record. */
  format: ConversationFormat | null;
  /** An owner's file of outcomes; null: none. */
  outcomes: string | null;
  /** Which score of the traces, or column of the file of outcomes, decides; null: all must agree. */
  pass: PassRule | null;
  redact: Redaction;
  /** Milliseconds since 1970. */
  now: number;
  /** Called from time to time with the number of records so far. */
  onProgress?: (records: number) => void;
}

/** What came of it. */
export interface IngestResult {
  formats: FormatCounts[];
  files: number;
  /** Outcomes that are new. */
  outcomes: number;
  /** Names of the scores that decided outcomes, new or not, the ones that decided most first. */
  decidedBy: { name: string; from: Scored['from']; count: number }[];
  /** Scores and lines of the outcome file that give no outcome, and outcomes of conversations that are not stored. */
  noOutcome: LeftOutFor[];
  /** Key of the artifact with the lines that could not be read; null: there are none. */
  rejected: string | null;
}

/** A line that could not be read, as it is kept. */
interface Reject {
  place: string;
  reason: string;
  text: string;
}

/**
 * Reads conversations and their outcomes from files and stores what is new. A broken file or line ends nothing: it is
 * counted. In memory are the part of the conversations that is merged, and a few bytes for each stored one.
 * @throws the errors of the file system for a name that was given, and those of the store.
 */
export async function ingest(store: ArtifactStore, options: IngestOptions): Promise<IngestResult> {
  // Conversations are private: what a killed ingest left goes now.
  await removeLeftFolders();
  const folder = await makeTemporaryFolder('whet-ingest');
  try {
    return await ingestThrough(folder, store, options);
  } finally {
    await removeTemporaryFolder(folder);
  }
}

async function ingestThrough(folder: string, store: ArtifactStore, options: IngestOptions): Promise<IngestResult> {
  const fragments = new Spool<Fragment>(folder, 'fragments');
  const scores = new Spool<Scored>(folder, 'scores');
  const reading = new Reading(options, fragments, scores);
  await reading.files();
  if (options.outcomes !== null) await reading.outcomes(options.outcomes);
  const { counts, rejects } = reading;
  const known = await Known.read(store, options.agent);
  const at = new Date(options.now).toISOString();
  const unmatched = new Unmatched();
  // Outcomes first: then each conversation is known to have one, or not.
  const outcomes = await putInArtifacts(
    store,
    layout.ingestedOutcomes(options.agent),
    'outcomes.jsonl',
    outcomesOf(reading, known, at, unmatched),
  );
  await putInArtifacts(
    store,
    layout.ingestedConversations(options.agent),
    'conversations.jsonl',
    newConversations(fragments, known, at, { counts, noOutcome: reading.noOutcome, unmatched }),
  );
  const { count, examples } = await unmatched.rest(store, options.agent);
  if (count > 0)
    reading.noOutcome.leaveOut(
      null,
      'an outcome of a conversation that is not stored',
      examples.map(shownValue),
      count,
    );
  const kept =
    rejects.length === 0
      ? null
      : await putLines(store, layout.ingestedRejects(options.agent), 'rejected.jsonl', rejects);
  return {
    formats: counts.all,
    files: reading.read,
    outcomes,
    decidedBy: [...reading.decidedBy.values()].sort((a, b) => b.count - a.count),
    noOutcome: reading.noOutcome.of(null).leftOut,
    rejected: kept?.key ?? null,
  };
}

function* outcomesOf(reading: Reading, known: Known, at: string, unmatched: Unmatched) {
  const { options, scores, scales, noOutcome } = reading;
  for (const [name, group, more] of scores.groups()) {
    if (more > 0)
      noOutcome.leaveOut(null, 'a score beyond the most that are read of one conversation', shownValue(name), more);
    const found = decided(group, options.pass, at, scales);
    if ('reason' in found) {
      noOutcome.leaveOut(null, found.reason, found.example);
      continue;
    }
    for (const score of found.by) reading.countDecision(score);
    unmatched.add(found.outcome.conversation);
    if (!known.addOutcome(found.outcome)) yield found.outcome;
  }
}

function* newConversations(
  fragments: Spool<Fragment>,
  known: Known,
  at: string,
  { counts, noOutcome, unmatched }: { counts: Counts; noOutcome: Counts; unmatched: Unmatched },
) {
  for (const [, group, more] of fragments.groups()) {
    const format = group[0]?.format ?? null;
    const counted = counts.of(format);
    const key = shownValue(group[0]?.key);
    if (more > 0) counts.leaveOut(format, 'a record beyond the most that are read of one conversation', key, more);
    for (const conversation of mergedOrNone(group, at, (reason) => counts.leaveOut(format, reason, key))) {
      const read = conversationSchema.safeParse(conversation);
      if (!read.success) {
        counts.leaveOut(format, `a conversation that ${faultOf(read.error)}`, conversation.id);
        continue;
      }
      counted.conversations++;
      unmatched.match(read.data);
      const hasOutcome = known.hasOutcome(read.data);
      if (hasOutcome === true) counted.withOutcome++;
      else counted.withoutOutcome++;
      if (hasOutcome === 'disagree') noOutcome.leaveOut(null, DISAGREE, conversation.id);
      if (known.addVersion(read.data)) counted.known++;
      else {
        counted.added++;
        yield read.data;
      }
    }
  }
}

/** The conversations of a group; one that cannot be merged costs no other. */
function mergedOrNone(group: readonly Fragment[], at: string, leaveOut: (reason: string) => void) {
  try {
    return merged(group, at, leaveOut);
  } catch (error) {
    leaveOut(`a conversation that ${faultOf(error)}`);
    return [];
  }
}

/** Why a record cannot be used, without a quote of it. */
function faultOf(error: unknown): string {
  if (error instanceof RecordFault) return error.message;
  if (error instanceof DialectError) return `has another form than its format allows (${shownPath(error.param)})`;
  if (error instanceof ZodError) return `has another form than its format allows (${shownPath(error.issues[0]?.path)})`;
  if (error instanceof RangeError) return 'is nested too deeply, or too long';
  if (error instanceof TypeError || error instanceof SyntaxError) return 'has another form than its format allows';
  throw error;
}

/** A path without its numbers, so that a fault of many places is one. */
const shownPath = (path: string | readonly PropertyKey[] | undefined): string =>
  startOf((typeof path === 'string' ? path : (path ?? []).map(String).join('.')).replace(/\d+/g, 'N'), 80);

/** Reads files into the spools. */
class Reading {
  readonly counts = new Counts();
  readonly noOutcome = new Counts();
  readonly rejects: Reject[] = [];
  readonly scales = new Scales();
  readonly decidedBy = new Map<string, IngestResult['decidedBy'][number]>();
  /** Files that were read. */
  read = 0;
  private records = 0;

  constructor(
    readonly options: IngestOptions,
    private readonly fragments: Spool<Fragment>,
    readonly scores: Spool<Scored>,
  ) {}

  async files(): Promise<void> {
    for await (const { path, leftOut } of inputFiles(this.options.files)) {
      if (leftOut !== null) this.counts.leaveOut(null, leftOut, path);
      else {
        this.read++;
        await this.file(path);
      }
    }
  }

  async outcomes(path: string): Promise<void> {
    for await (const found of readOutcomeFile(path, this.options.pass)) {
      if ('reason' in found) this.noOutcome.leaveOut(null, found.reason, `${path}:${found.line}`);
      else this.score(found.scored);
    }
  }

  private async file(path: string): Promise<void> {
    const before = this.records;
    try {
      for await (const record of readRecords(path)) {
        if ('reason' in record)
          this.reject(null, record.reason, `${path}:${record.line}`, record.text.toString('utf8'));
        else this.record(path, record);
        if (++this.records % 10_000 === 0) this.options.onProgress?.(this.records);
      }
      if (this.records === before) this.counts.leaveOut(null, 'an empty file', path);
    } catch (error) {
      // A folder's file may be damaged, or belong to another user.
      if (!isOfInput(error, path)) throw error;
      this.counts.leaveOut(null, error.message.replaceAll(path, 'the file'), path);
    }
  }

  private record(path: string, { value, head, line }: InputRecord): void {
    const place = `${path}:${line}`;
    const format = isFields(value) ? this.formatOf(value, head) : undefined;
    if (!isFields(value) || format === undefined)
      return this.reject(null, 'no known format', place, textOfValue(value));
    this.counts.record(format.name, path);
    try {
      format.read(value, head, this.sink(format, place));
    } catch (error) {
      this.reject(format.name, faultOf(error), place, textOfValue(value));
    }
  }

  private formatOf(value: Readonly<Record<string, unknown>>, head: InputRecord['head']): Format | undefined {
    const { format } = this.options;
    return FORMATS.find((one) => (format === null ? one.detects(value, head) : one.name === format));
  }

  private sink({ name }: Format, place: string): Sink {
    const { redact } = this.options;
    return {
      fragment: (fragment) => {
        const messages = fragment.messages.map(redact);
        const branches = fragment.branches && {
          ...fragment.branches,
          kept: fragment.branches.kept.map((kept) => kept.map(redact)),
        };
        // Formats may name different conversations alike.
        this.fragments.add(`${name} ${fragment.key}`, { ...fragment, messages, ...(branches && { branches }) });
      },
      score: (scored) => this.score(scored),
      leaveOut: (reason) => this.counts.leaveOut(name, reason, place),
    };
  }

  /** Counts a score that decided an outcome. */
  countDecision({ name: given, from }: Scored): void {
    const name = this.decidedBy.size < MOST_NAMES ? shownValue(given) : 'other scores';
    const key = `${from} ${name}`;
    const entry = this.decidedBy.get(key) ?? { name, from, count: 0 };
    entry.count++;
    this.decidedBy.set(key, entry);
  }

  private score(scored: Scored): void {
    if (scored.needsRule === true && scored.name !== this.options.pass?.name) return;
    this.scales.add(scored);
    this.scores.add(scored.conversation, scored);
  }

  private reject(format: ConversationFormat | null, reason: string, place: string, text: string): void {
    this.counts.leaveOut(format, reason, place);
    if (this.rejects.length >= MOST_REJECTS) return;
    const { content } = this.options.redact({ role: 'user', content: startOf(text, LONGEST_REJECT) });
    this.rejects.push({ place, reason, text: content ?? '' });
  }
}

/** Whether an error is of reading the file, and not of writing what was read. */
function isOfInput(error: unknown, file: string): error is Error {
  if (error instanceof InputFault || error instanceof StoreCorruptError) return true;
  const { syscall, path = file } = (error ?? {}) as NodeJS.ErrnoException;
  return (syscall === 'open' || syscall === 'read') && path === file;
}

/** The beginning of a value's JSON; empty for one that is nested too deeply. */
function textOfValue(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return '';
  }
}
