import type { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import type { Repetition } from '../../contracts/messages/repair';
import { failure, isFailure } from '../../contracts/typed-failure';
import { contentKey, type Analyst, type AnalystAnswer, type AnalystRequest, type MalformedDetail } from '../../llm';
import { layout, readSegment, type ArtifactStore, type Segment } from '../../store';
import { warnOfDamage } from '../warn-of-damage';

const count = z.int().nonnegative();

/** The record of a billed call. All segments with such records together say what a run has paid for. */
export const callRecordSchema = z.object({
  kind: z.string(),
  /** Content key of the call. Two records of a run have the same key only if a call was paid twice. */
  key: z.string(),
  model: z.string(),
  /** Number of billed answers: 1 plus the re-asks. */
  asks: count,
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count,
});
export type CallRecord = z.infer<typeof callRecordSchema>;

const storedCallSchema = callRecordSchema.extend({
  promptSha256: z.string(),
  answer: z.unknown(),
  /** Key of the artifact with the last answer, if none was valid: it was paid for, but cannot be reused. */
  malformed: z.string().optional(),
});
type StoredCall = z.infer<typeof storedCallSchema>;

/** Makes the record of an answer. */
export function callRecord(
  request: { kind: string; key: string },
  answer: Pick<AnalystAnswer<unknown>, 'usage' | 'asks' | 'model'>,
): CallRecord {
  return { kind: request.kind, key: request.key, model: answer.model, asks: answer.asks, ...answer.usage };
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

/** Analyst calls of one activity. Their answers are kept in a segment, from which a retry takes them. */
export class RecordedCalls {
  private constructor(
    private readonly store: ArtifactStore,
    private readonly runId: string,
    private readonly segment: Segment,
    private readonly stored: StoredCall[],
    private readonly mayAsk: boolean,
  ) {}

  /**
   * Opens `runs/<runId>/work/<name>.jsonl`; close it when the activity ends. An activity that `whet repair` executes
   * again hands its `repetition` over, which may allow recorded answers only.
   */
  static async open(
    store: ArtifactStore,
    runId: string,
    name: string,
    repetition?: Repetition,
  ): Promise<RecordedCalls> {
    const segment = store.segment(layout.work(runId, name));
    const { values: records, damaged } = await readSegment(segment, storedCallSchema);
    warnOfDamage(damaged);
    return new RecordedCalls(store, runId, segment, records, repetition?.mayAskAnalyst ?? true);
  }

  /** All calls so far, in the order in which they were answered. */
  get records(): CallRecord[] {
    return [...this.stored];
  }

  /**
   * Takes the answer from the segment, else asks the analyst and writes its answer to the segment. Throws what
   * `Analyst.ask` throws. An answer that stayed malformed is kept as an artifact, which the message names. Throws
   * Analyst.NotRecorded when only recorded answers are allowed and there is none.
   */
  async ask<T>(analyst: Analyst, request: AnalystRequest<T>): Promise<{ value: T; record: CallRecord }> {
    const known = this.stored.find(({ key, malformed }) => key === request.key && malformed === undefined);
    if (known) return { value: request.schema.parse(known.answer), record: known };
    if (!this.mayAsk)
      throw failure(
        'Analyst.NotRecorded',
        `No answer to this question (${request.kind}) is recorded in the run's work files, and repairing may not ask ` +
          'the analyst again without leave.',
      );
    try {
      const answer = await analyst.ask(request);
      const record = await this.keep(request, answer, { answer: answer.value });
      return { value: answer.value, record };
    } catch (error) {
      throw isFailure(error, 'Analyst.Malformed') ? await this.keepMalformed(analyst, request, error) : error;
    }
  }

  close(): Promise<void> {
    return this.segment.close();
  }

  private async keep<T>(
    request: AnalystRequest<T>,
    answer: Pick<AnalystAnswer<T>, 'usage' | 'asks' | 'model'>,
    extra: Pick<StoredCall, 'answer' | 'malformed'>,
  ): Promise<CallRecord> {
    const record: StoredCall = {
      ...callRecord(request, answer),
      promptSha256: contentKey(JSON.stringify(request.messages)),
      ...extra,
    };
    await this.segment.append(record);
    this.stored.push(record);
    return record;
  }

  private async keepMalformed<T>(
    analyst: Analyst,
    request: AnalystRequest<T>,
    error: ApplicationFailure,
  ): Promise<ApplicationFailure> {
    const { answer, usage, asks, problems } = error.details?.[0] as MalformedDetail;
    const kept = await this.store.put(`${layout.run(this.runId)}/work`, `malformed-${request.kind}.txt`, answer, {
      mediaType: 'text/plain',
    });
    await this.keep(request, { usage, asks, model: analyst.model }, { answer: null, malformed: kept.key });
    return failure('Analyst.Malformed', `${error.message} The last answer is kept as ${kept.key}.`, {
      cause: error,
      details: [{ key: request.key, problems, kept: kept.key }],
    });
  }
}
