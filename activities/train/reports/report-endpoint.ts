import fastify, { type FastifyInstance } from 'fastify';
import { REPORT_STATUS_CODES, type ReportInbox } from './report-inbox';

/** A report is a handful of numbers. */
const BODY_BYTES = 1_024;

/**
 * `POST /v1/reports/<job>` with a bearer token; `GET /healthz` with the counts of what was accepted and refused. Not
 * listening yet.
 */
export function createReportEndpoint(desk: ReportInbox): FastifyInstance {
  const server = fastify({ bodyLimit: BODY_BYTES, requestTimeout: 5_000, logger: false });
  server.get('/healthz', () => ({ reports: desk.counts }));
  server.post<{ Params: { job: string } }>('/v1/reports/:job', async (request, reply) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const verdict = await desk.take(request.params.job, token, request.body);
    await reply.code(REPORT_STATUS_CODES[verdict]).send(verdict === 'accepted' ? undefined : { refused: verdict });
  });
  server.setErrorHandler(async (error: { statusCode?: number }, _request, reply) => {
    const verdict = desk.count(error.statusCode === REPORT_STATUS_CODES.oversized ? 'oversized' : 'malformed');
    await reply.code(REPORT_STATUS_CODES[verdict]).send({ refused: verdict });
  });
  return server;
}
