import type { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { type CallRecord, callRecordSchema } from '../../contracts/artifacts/call-record';
import type { Repetition } from '../../contracts/messages/repair';
import { failure, isFailure } from '../../contracts/typed-failure';
import { contentKey, type Analyst, type AnalystAnswer, type AnalystRequest, type MalformedDetail } from '../../llm';
import { layout, readSegment, type ArtifactStore } from '../../store';
import { warnOfDamage } from '../warn-of-damage';
import { Claim } from './claim';
import type { OneAttempt } from './one-attempt';
import { PaidSegment } from './paid-segment';
import { withWaitingNotes } from './waiting-notes';

const storedCallSchema = callRecordSchema.extend({
  promptSha256: z.string(),
  answer: z.unknown(),
  /**
   * If no answer was valid: key of the artifact with the last answer. That answer was paid for, but cannot be reused.
   */
  malformed: z.string().optional(),
});
type StoredCall = z.infer<typeof storedCallSchema>;

/** Makes the record of an answer. */
export function callRecord(
  request: { kind: string; key: string; shortened?: boolean },
  answer: Omit<AnalystAnswer<unknown>, 'value'>,
  isUnanswered = false,
): CallRecord {
  const { usage, asks, tries, model, redacted } = answer;
  return {
    kind: request.kind,
    key: request.key,
    model,
    asks,
    ...usage,
    tries,
    ...(isUnanswered && { unanswered: true }),
    ...(request.shortened === true && { shortened: true }),
    ...(Object.keys(redacted).length > 0 && { redacted }),
  };
}

/** Adds up the tokens and answers of records. */
export function sumCalls(records: Iterable<CallRecord>) {
  const total = { asks: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  for (const record of records) {
    total.asks += record.asks;
    total.promptTokens += record.promptTokens;
    total.completionTokens += record.completionTokens;
    total.cachedTokens += record.cachedTokens;
  }
  return total;
}

/** An activity's options for the calls that it records. */
export interface RecordedCallsOptions {
  analyst: Analyst;
  /** The attempts at activities of this kind in this process. */
  attempts: OneAttempt;
  /** Ends waiting calls. */
  signal: AbortSignal;
  /** Shows people why the calls wait; undefined removes the note. */
  setNote: (note: string | undefined) => void;
  /**
   * Set when `whet repair` executes the activity again. It may forbid new questions and allow only recorded answers.
   */
  repetition: Repetition | undefined;
}

/** The recorded calls of an activity, in the order of their answers. Damaged lines are left out. */
export async function readRecordedCalls(store: ArtifactStore, runId: string, name: string): Promise<CallRecord[]> {
  return (await readCalls(store, layout.work(runId, name))).values;
}

async function readCalls(store: ArtifactStore, key: string) {
  const read = await readSegment(store.segment(key), storedCallSchema);
  warnOfDamage(read.damaged);
  return read;
}

/**
 * The analyst calls of one activity. Their answers are stored in a segment, and a retry takes them from there. Before
 * its first question, an attempt waits for the previous attempt in the same process, whose answer may be in flight.
 * Then it claims the segment, so that an earlier attempt whose process was stopped for a while asks nothing more.
 */
export class RecordedCalls implements AsyncDisposable {
  private stored: StoredCall[] = [];
  private claim: Promise<Claim> | null = null;
  private leave = (): void => undefined;
  private readonly segment: PaidSegment;

  private constructor(
    private readonly store: ArtifactStore,
    private readonly runId: string,
    private readonly key: string,
    private readonly options: RecordedCallsOptions,
  ) {
    this.segment = new PaidSegment(store, key, { ...options, ledger: options.analyst.ledger });
  }

  /** Opens `runs/<runId>/work/<name>.jsonl`; use it with `await using`, which closes it. */
  static async open(
    store: ArtifactStore,
    runId: string,
    name: string,
    options: RecordedCallsOptions,
  ): Promise<RecordedCalls> {
    const calls = new RecordedCalls(store, runId, layout.work(runId, name), {
      ...options,
      analyst: withWaitingNotes(options.analyst, options.setNote),
    });
    await calls.read();
    return calls;
  }

  /** All calls so far, in the order of their answers. */
  get records(): CallRecord[] {
    return [...this.stored];
  }

  /**
   * Takes the answer from the segment. If there is none, asks the analyst and appends its answer to the segment. Throws
   * the errors of `Analyst.ask`, ClaimLostError when a later attempt has taken over, and Analyst.NotRecorded when an
   * answer is missing and only recorded ones are allowed. An answer that stayed malformed is stored as an artifact,
   * which the message names.
   */
  async ask<T>(request: Omit<AnalystRequest<T>, 'signal' | 'keep'>): Promise<{ value: T; record: CallRecord }> {
    const known = this.answerTo(request);
    if (known) return known;
    if (this.options.repetition?.mayAskAnalyst === false)
      throw failure(
        'Analyst.NotRecorded',
        `No answer to this question (${request.kind}) is recorded in the run's work files, and repairing may not ask ` +
          'the analyst again without leave.',
      );
    this.claim ??= this.takeClaim();
    const claim = await this.claim;
    const answered = this.answerTo(request);
    if (answered) return answered;
    await claim.confirm();
    const { analyst, signal } = this.options;
    let record: CallRecord | null = null;
    try {
      const { value } = await analyst.ask({
        ...request,
        isRecorded: true,
        signal: AbortSignal.any([signal, claim.lost]),
        keep: async (answer) => void (record = await this.keep(request, answer, { answer: answer.value })),
      });
      return { value, record: record as unknown as CallRecord };
    } catch (error) {
      if (!signal.aborted) claim.lost.throwIfAborted();
      throw isFailure(error, 'Analyst.Malformed') ? await this.keepMalformed(request, error) : error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const claim = await this.claim?.catch(() => null);
    try {
      await this.segment.close();
    } finally {
      await claim?.release();
      this.leave();
      await this.options.analyst.flushUsage();
    }
  }

  private async read(): Promise<void> {
    const { values, damaged } = await readCalls(this.store, this.key);
    this.stored = values;
    await this.options.analyst.ledger?.opened(this.key, values, values.length + damaged.count);
  }

  /** An earlier attempt may have written answers until its claim was taken, so the segment is read again. */
  private async takeClaim(): Promise<Claim> {
    const { attempts, signal, setNote } = this.options;
    this.leave = await attempts.begin(this.key, signal, setNote);
    const claim = await Claim.take(this.store, this.key.replace(/\.jsonl$/, '.claim.json'), {
      runId: this.runId,
      questions: 1,
      signal,
      // No other run uses this segment.
      onWait: () => undefined,
    });
    await this.read();
    return claim;
  }

  private answerTo<T>({ key, schema }: Pick<AnalystRequest<T>, 'key' | 'schema'>) {
    const known = this.stored.find((call) => call.key === key && call.malformed === undefined);
    return known && { value: schema.parse(known.answer), record: known };
  }

  private async keep<T>(
    request: Omit<AnalystRequest<T>, 'signal' | 'keep'>,
    answer: Omit<AnalystAnswer<T>, 'value'>,
    extra: Pick<StoredCall, 'answer' | 'malformed'>,
  ): Promise<CallRecord> {
    const record: StoredCall = {
      ...callRecord(request, answer, extra.malformed !== undefined),
      promptSha256: contentKey(JSON.stringify(request.messages)),
      ...extra,
    };
    await this.segment.append(record, record);
    this.stored.push(record);
    return record;
  }

  private async keepMalformed<T>(
    request: Omit<AnalystRequest<T>, 'signal' | 'keep'>,
    error: ApplicationFailure,
  ): Promise<ApplicationFailure> {
    const { answer, problems, ...cost } = error.details?.[0] as MalformedDetail;
    const kept = await this.store.put(`${layout.run(this.runId)}/work`, `malformed-${request.kind}.txt`, answer, {
      mediaType: 'text/plain',
    });
    await this.keep(request, { ...cost, model: this.options.analyst.model }, { answer: null, malformed: kept.key });
    return failure('Analyst.Malformed', `${error.message} The last answer is kept as ${kept.key}.`, {
      // The original failure is not the cause here: its details contain the whole answer, which is in the store now.
      details: [{ key: request.key, problems, kept: kept.key }],
    });
  }
}
