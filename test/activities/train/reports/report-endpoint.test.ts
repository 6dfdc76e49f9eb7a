// Tier: integration (a real HTTP endpoint).
import type { FastifyInstance } from 'fastify';
import { ReportInbox, type TokenStatus } from '../../../../activities/train/reports/report-inbox';
import { createReportEndpoint } from '../../../../activities/train/reports/report-endpoint';

const report = (sequence: number) => ({
  sequence,
  iteration: 3,
  iterations: 40,
  reward: 0.5,
  kl: 0.01,
  completionTokens: 900,
  secondsLeft: 30,
});

describe('the report endpoint', () => {
  const STATUS: Record<string, TokenStatus> = { good: 'good', old: 'late' };
  let inbox: ReportInbox;
  let server: FastifyInstance;
  let expected: Disposable;
  let url: string;

  beforeEach(async () => {
    inbox = new ReportInbox();
    server = createReportEndpoint(inbox);
    url = await server.listen({ host: '127.0.0.1', port: 0 });
    expected = inbox.expect('job-a', async (token) => STATUS[token] ?? 'forged');
    inbox.expect('job-b', async () => {
      throw new Error('the API server does not answer');
    });
  });
  afterEach(() => server.close());

  const post = async (token: string, body: unknown, job = 'job-a'): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return (await fetch(`${url}/v1/reports/${job}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  };

  test('accepts the reports of its job and keeps the newest', async () => {
    expect(await post('good', report(1))).toBe(204);
    expect(await post('good', { ...report(2), iteration: 4 })).toBe(204);
    expect(inbox.latest('job-a')).toMatchObject({ iteration: 4, secondsLeft: 30 });
    expect(inbox.counts.accepted).toBe(2);
  });

  test('refuses and counts reports that are forged, late, replayed, malformed, oversized or cannot be checked', async () => {
    const good = 'good';
    for (const token of ['', 'x', 'good.more']) expect(await post(token, report(1))).toBe(401);
    expect(await post('old', report(1))).toBe(403);
    expect(await post(good, report(1), 'job-unknown')).toBe(403);
    expect(await post(good, report(5))).toBe(204);
    expect(await post(good, report(5))).toBe(409);
    expect(await post(good, report(4))).toBe(409);
    expect(await post(good, { ...report(6), more: 1 })).toBe(400);
    expect(await post(good, { ...report(6), reward: 'high' })).toBe(400);
    expect(await post(good, { ...report(6), padding: 'x'.repeat(2_000) })).toBe(413);
    expect(await post(good, report(6), 'job-b')).toBe(503);
    expect(inbox.counts).toEqual({
      accepted: 1,
      forged: 3,
      late: 2,
      replayed: 2,
      malformed: 2,
      oversized: 1,
      unavailable: 1,
    });
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ reports: inbox.counts });
    expect(inbox.latest('job-a')).toMatchObject({ sequence: 5 });
  });

  test('reports of a training that has ended are refused', async () => {
    expected[Symbol.dispose]();
    expect(await post('good', report(1))).toBe(403);
    expect(inbox.latest('job-a')).toBeNull();
  });
});
