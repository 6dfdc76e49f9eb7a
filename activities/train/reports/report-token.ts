import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Result of checking a token. `late`: it was good and has expired. */
export type TokenStatus = 'good' | 'forged' | 'late';

/**
 * Issues and checks tokens that are good for one job until they expire. The secret is lost when the worker ends; so are
 * the tokens, and its trainers continue without reports.
 */
export class ReportTokens {
  private readonly secret = randomBytes(32);

  /** Issues a token for a job. @param lifetimeMs default: a day, the longest that a training activity runs. */
  issue(job: string, nowMs = Date.now(), lifetimeMs = 24 * 3_600_000): string {
    const claim = Buffer.from(JSON.stringify({ job, until: nowMs + lifetimeMs })).toString('base64url');
    return `${claim}.${this.sign(claim)}`;
  }

  /** Checks whether a token was issued here for this job and has not expired. */
  check(token: string, job: string, nowMs = Date.now()): TokenStatus {
    const [claim = '', signature = '', ...rest] = token.split('.');
    const expected = Buffer.from(this.sign(claim));
    const given = Buffer.from(signature);
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return 'forged';
    const { job: of, until } = JSON.parse(Buffer.from(claim, 'base64url').toString('utf8')) as {
      job: string;
      until: number;
    };
    if (of !== job) return 'forged';
    return nowMs < until ? 'good' : 'late';
  }

  private sign(claim: string): string {
    return createHmac('sha256', this.secret).update(claim).digest('base64url');
  }
}
