import { type TrainingReport, trainingReportSchema } from '../../../contracts/artifacts/training';

/** Outcomes of a report, with the HTTP status of each. */
export const REPORT_STATUS_CODES = {
  accepted: 204,
  malformed: 400,
  forged: 401,
  late: 403,
  replayed: 409,
  oversized: 413,
  unavailable: 503,
} as const;
/** Outcome of one report: accepted, or why it was refused. */
type ReportOutcome = keyof typeof REPORT_STATUS_CODES;

/** Result of checking a token. `late`: it was good and has expired. */
export type TokenStatus = 'good' | 'forged' | 'late';

/** Checks whether a token is good for a job. Throws when that cannot be checked. */
export type TokenCheck = (token: string, job: string) => Promise<TokenStatus>;

/** A report with the time of its arrival, in milliseconds since 1970. */
export type ReceivedReport = TrainingReport & { atMs: number };

interface ExpectedJob {
  check: TokenCheck;
  latest: ReceivedReport | null;
  lastSequence: number;
}

/**
 * Receives the progress reports of the trainings that this worker watches, and counts accepted and refused ones.
 * Reports may be lost: progress.jsonl says the same a little later.
 */
export class ReportInbox {
  /** Number of reports by outcome since the start. */
  readonly counts = Object.fromEntries(Object.keys(REPORT_STATUS_CODES).map((outcome) => [outcome, 0])) as Record<
    ReportOutcome,
    number
  >;
  private readonly expected = new Map<string, ExpectedJob>();

  /** Accepts reports of a job until the result is disposed of. */
  expect(job: string, check: TokenCheck): Disposable {
    const entry: ExpectedJob = { check, latest: null, lastSequence: -1 };
    this.expected.set(job, entry);
    return {
      [Symbol.dispose]: () => {
        if (this.expected.get(job) === entry) this.expected.delete(job);
      },
    };
  }

  /** The newest report of a job; null when there is none. */
  latest(job: string): ReceivedReport | null {
    return this.expected.get(job)?.latest ?? null;
  }

  /** Checks, stores and counts a report. `body` is the parsed JSON of the post. */
  async receive(job: string, token: string, body: unknown): Promise<ReportOutcome> {
    return this.count(await this.accept(job, token, body));
  }

  /** Counts an outcome and returns it. */
  count(outcome: ReportOutcome): ReportOutcome {
    this.counts[outcome] += 1;
    return outcome;
  }

  private async accept(job: string, token: string, body: unknown): Promise<ReportOutcome> {
    const entry = this.expected.get(job);
    if (entry === undefined) return 'late';
    const status = await entry.check(token, job).catch(() => null);
    if (status === null) return 'unavailable';
    if (status !== 'good') return status;
    const parsed = trainingReportSchema.safeParse(body);
    if (!parsed.success) return 'malformed';
    if (parsed.data.sequence <= entry.lastSequence) return 'replayed';
    entry.lastSequence = parsed.data.sequence;
    entry.latest = { ...parsed.data, atMs: Date.now() };
    return 'accepted';
  }
}
