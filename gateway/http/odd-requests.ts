/** Answers requests in OpenAI's format that Node would answer without a body, or not at all. */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { openAiError } from '../../contracts/messages/openai-error';
import { ApiError } from './errors';
import { sendError } from './respond';

/** How long the rest of a refused request is read and discarded, so that its client reads the answer. */
const LINGER_MS = 2_000;

/** Discards the rest of an already answered request, and ends its connection if the rest does not arrive. */
export function discardRest(rest: Readable): void {
  rest.on('error', () => rest.destroy());
  rest.resume();
  const timer = setTimeout(() => rest.destroy(), LINGER_MS);
  rest.once('end', () => clearTimeout(timer));
  rest.once('close', () => clearTimeout(timer));
}

/** Statuses and sentences by the codes of Node's parser. Any other code means that the bytes are not HTTP. */
const MALFORMED: Readonly<Record<string, [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The extensions of a chunk are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
};

/** Makes a server answer bytes that are no request, CONNECT, and expectations that it does not support. */
export function answerOddRequests(server: Server): void {
  server.on('clientError', (error: Error & { code?: string }, socket: Duplex) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
    const [status, message] = MALFORMED[error.code ?? ''] ?? [400, 'This is no HTTP request.'];
    refuse(socket, status, message);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    refuse(socket, 405, 'This server is no proxy: it does not take CONNECT.');
    // Node no longer manages this connection: no timeout ends it, and closing the server would wait for it.
    discardRest(socket);
  });
  server.on('checkExpectation', (request, response) => {
    const error = new ApiError(417, 'This server meets no expectation but 100-continue.');
    response.setHeader('connection', 'close');
    sendError(response, error);
    request.resume();
  });
}

function refuse(socket: Duplex, status: number, message: string): void {
  const body = JSON.stringify(openAiError(message, 'invalid_request_error'));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
