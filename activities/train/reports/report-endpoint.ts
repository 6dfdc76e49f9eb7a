import fastify, { type FastifyInstance } from 'fastify';
import { REPORT_STATUS_CODES, type ReportInbox } from './report-inbox';

/** Largest body of a request. A report has only a few numbers. */
const MAX_BODY_BYTES = 1_024;

/**
 * Makes the HTTP server for reports, which does not listen yet. `POST /v1/reports/<job>` takes a report with a bearer
 * token. `GET /healthz` returns the numbers of accepted and refused reports.
 */
export function createReportEndpoint(inbox: ReportInbox): FastifyInstance {
  const server = fastify({ bodyLimit: MAX_BODY_BYTES, requestTimeout: 5_000, logger: false });
  server.get('/healthz', () => ({ reports: inbox.counts }));
  server.post<{ Params: { job: string } }>('/v1/reports/:job', async (request, reply) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const outcome = await inbox.receive(request.params.job, token, request.body);
    await reply.code(REPORT_STATUS_CODES[outcome]).send(outcome === 'accepted' ? undefined : { refused: outcome });
  });
  server.setErrorHandler(async (error: { statusCode?: number }, _request, reply) => {
    const outcome = inbox.count(error.statusCode === REPORT_STATUS_CODES.oversized ? 'oversized' : 'malformed');
    await reply.code(REPORT_STATUS_CODES[outcome]).send({ refused: outcome });
  });
  return server;
}
