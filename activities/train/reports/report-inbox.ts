import { type TrainingReport, trainingReportSchema } from '../../../contracts/artifacts/training';
import type { TokenStatus } from './report-token';

/** What became of a report, and the status it is answered with. */
export const REPORT_STATUS_CODES = {
  accepted: 204,
  malformed: 400,
  forged: 401,
  late: 403,
  replayed: 409,
  oversized: 413,
  unavailable: 503,
} as const;
export type ReportOutcome = keyof typeof REPORT_STATUS_CODES;

/** Looks whether a token is good for a job. Throws when it cannot say. */
export type TokenCheck = (token: string, job: string) => Promise<TokenStatus>;

interface Open {
  check: TokenCheck;
  latest: (TrainingReport & { atMs: number }) | null;
  lastSequence: number;
}

/**
 * Takes the reports of the trainings that this worker watches, and counts what it refuses. Losing all of them loses
 * nothing.
 */
export class ReportInbox {
  readonly counts: Record<ReportOutcome, number> = {
    accepted: 0,
    malformed: 0,
    forged: 0,
    late: 0,
    replayed: 0,
    oversized: 0,
    unavailable: 0,
  };
  private readonly open = new Map<string, Open>();

  /** Expects reports of a job until the returned function is called. */
  expect(job: string, check: TokenCheck): () => void {
    const entry: Open = { check, latest: null, lastSequence: -1 };
    this.open.set(job, entry);
    return () => {
      if (this.open.get(job) === entry) this.open.delete(job);
    };
  }

  /** The newest report of a job; null when there is none. */
  latest(job: string): (TrainingReport & { atMs: number }) | null {
    return this.open.get(job)?.latest ?? null;
  }

  async take(job: string, token: string, body: unknown): Promise<ReportOutcome> {
    return this.count(await this.judge(job, token, body));
  }

  count(verdict: ReportOutcome): ReportOutcome {
    this.counts[verdict] += 1;
    return verdict;
  }

  private async judge(job: string, token: string, body: unknown): Promise<ReportOutcome> {
    const entry = this.open.get(job);
    if (entry === undefined) return 'late';
    const verdict = await entry.check(token, job).catch(() => null);
    if (verdict === null) return 'unavailable';
    if (verdict !== 'good') return verdict;
    const parsed = trainingReportSchema.safeParse(body);
    if (!parsed.success) return 'malformed';
    if (parsed.data.sequence <= entry.lastSequence) return 'replayed';
    entry.lastSequence = parsed.data.sequence;
    entry.latest = { ...parsed.data, atMs: Date.now() };
    return 'accepted';
  }
}
