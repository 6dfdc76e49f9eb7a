import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors';

/**
 * The whole body. Rejects with ApiError 413 as soon as it is known to be over `limit` bytes (what is announced is not read first), 408 when
 * it has not come within `timeoutMs`, 415 for a compressed one, and with the connection's error when the client goes away.
 */
export function readBody(request: IncomingMessage, limit: number, timeoutMs: number): Promise<Buffer> {
  const tooLarge = () => new ApiError(413, `The request body is larger than ${limit} bytes.`, { code: 'request_too_large', headers: { connection: 'close' } });
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    return Promise.reject(new ApiError(415, `Content-Encoding ${JSON.stringify(encoding.slice(0, 40))} is not taken; send the body as it is.`));
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => {
      fail(new ApiError(408, `The request body did not arrive within ${timeoutMs / 1000} s.`, { code: 'request_timeout', headers: { connection: 'close' } }));
    }, timeoutMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      request.removeAllListeners('data');
      // The rest is thrown away as it comes, so that the answer reaches a client that is still sending.
      request.resume();
      reject(error);
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) return fail(tooLarge());
      chunks.push(chunk);
    });
    request.once('end', () => {
      clearTimeout(timer);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    });
    request.once('error', fail);
    request.once('close', () => fail(new Error('The client went away.')));
  });
}
