import { appendFile, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { QuestionKind } from './answers';

const append = promisify(appendFile);

/** An answer that was billed. */
export interface BilledAnswer {
  /** Idempotency key; null when the call had none. */
  key: string | null;
  kind: QuestionKind;
  /** Hash of the question. */
  body: string;
  content: string;
  promptTokens: number;
  completionTokens: number;
}

/** Counters since the journal began. */
export interface AnalystStats {
  requests: Record<QuestionKind, number>;
  billed: Record<QuestionKind, number>;
  billedCalls: number;
  /** Requests answered from the journal because their key was known; not billed. */
  replayed: number;
  /** Keys that came more than once. */
  duplicateKeys: number;
  /** Billed questions that had been billed before, under another key or none. */
  billedTwice: number;
}

/**
 * Billed answers by idempotency key, in a file that outlives the process. An answer is in the file before it is sent,
 * so a caller who lost it gets it again without being billed.
 */
export class Journal {
  private readonly answers = new Map<string, BilledAnswer>();
  private readonly bodies = new Set<string>();
  private readonly repeatedKeys = new Set<string>();
  private readonly billed = { discover: 0, merge: 0, label: 0, synthesise: 0, read: 0 };
  private readonly replays = { discover: 0, merge: 0, label: 0, synthesise: 0, read: 0 };
  private billedTwice = 0;
  private file: number | null = null;
  private pending: string[] = [];
  /** The write that will take the pending lines; null when there are none. */
  private batch: Promise<void> | null = null;
  private written: Promise<void> = Promise.resolve();

  /** Reads the journal at `path` and goes on writing it; without a path nothing is kept. */
  constructor(path: string | null) {
    if (path === null) return;
    mkdirSync(dirname(path), { recursive: true });
    this.file = openSync(path, 'a+');
    const text = readFileSync(path, 'utf8');
    for (const line of text.split('\n')) if (line !== '') this.load(line);
    // A process that was killed may have left half a line; the next line must not be appended to it.
    if (text !== '' && !text.endsWith('\n')) this.pending.push('\n');
  }

  find(key: string): BilledAnswer | undefined {
    return this.answers.get(key);
  }

  /** Bills an answer. Resolves when it is in the file; a second call with its key finds it at once. */
  bill(answer: BilledAnswer): Promise<void> {
    this.count(answer);
    return this.append(answer);
  }

  /** Counts an answer that was given again. */
  replay(answer: BilledAnswer): Promise<void> {
    this.countReplay(answer);
    return this.append({ replayed: answer.key });
  }

  get stats(): AnalystStats {
    const sum = (counts: Record<QuestionKind, number>) =>
      counts.discover + counts.merge + counts.label + counts.synthesise + counts.read;
    const { billed, replays } = this;
    return {
      requests: {
        discover: billed.discover + replays.discover,
        merge: billed.merge + replays.merge,
        label: billed.label + replays.label,
        synthesise: billed.synthesise + replays.synthesise,
        read: billed.read + replays.read,
      },
      billed: { ...billed },
      billedCalls: sum(billed),
      replayed: sum(replays),
      duplicateKeys: this.repeatedKeys.size,
      billedTwice: this.billedTwice,
    };
  }

  /** Waits for what is being written and closes the file. */
  async close(): Promise<void> {
    await this.written;
    if (this.file !== null) closeSync(this.file);
    this.file = null;
  }

  private load(line: string): void {
    let entry: BilledAnswer | { replayed: string };
    try {
      entry = JSON.parse(line) as typeof entry;
    } catch {
      // The process was killed while it wrote this line, so its answer was never sent.
      return;
    }
    if ('replayed' in entry) {
      const answer = this.answers.get(entry.replayed);
      if (answer) this.countReplay(answer);
    } else this.count(entry);
  }

  private count(answer: BilledAnswer): void {
    this.billed[answer.kind]++;
    if (this.bodies.has(answer.body)) this.billedTwice++;
    this.bodies.add(answer.body);
    if (answer.key !== null) this.answers.set(answer.key, answer);
  }

  private countReplay(answer: BilledAnswer): void {
    this.replays[answer.kind]++;
    if (answer.key !== null) this.repeatedKeys.add(answer.key);
  }

  /** Lines that arrive while a write is under way go out together in the next one. */
  private append(entry: unknown): Promise<void> {
    if (this.file === null) return Promise.resolve();
    this.pending.push(`${JSON.stringify(entry)}\n`);
    if (this.batch === null) {
      this.batch = this.written.then(() => this.flush());
      this.written = this.batch.catch(() => undefined);
    }
    return this.batch;
  }

  private async flush(): Promise<void> {
    const lines = this.pending.join('');
    this.pending = [];
    this.batch = null;
    if (this.file !== null) await append(this.file, lines);
  }
}
