import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors';
import { startOf } from '../../contracts/clean-text';

/** A body, followed in memory by free space, so that a longer model name fits without a copy. */
export interface ReceivedBody {
  bytes: Buffer;
  /** Number of free bytes after `bytes` in the same memory. */
  spare: number;
}

const SPARE_BYTES = 256;
/** Largest announced length for which memory is allocated before the body arrives. */
const ANNOUNCED_BYTES = 1_048_576;

/**
 * Reads the whole body. Rejects with ApiError 413 if it is larger than `limit` bytes (at once, if its announced length
 * is), with 408 if it has not arrived within `timeoutMs`, and with 415 if it is compressed. Rejects with the
 * connection's error if the client disconnects. `onSize` gets the size before memory is allocated for it, and may
 * throw.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  timeoutMs: number,
  onSize: (bytes: number) => void = () => undefined,
): Promise<ReceivedBody> {
  const tooLarge = () =>
    new ApiError(413, `The request body is larger than ${limit} bytes.`, {
      code: 'request_too_large',
      headers: { connection: 'close' },
    });
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    return Promise.reject(
      new ApiError(
        415,
        `Content-Encoding ${JSON.stringify(startOf(encoding, 40))} is not supported. Send the body uncompressed.`,
      ),
    );
  }
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    onSize(announced);
    // The memory is not from Node's pool, which other buffers share.
    const memory =
      announced > 0 && announced <= ANNOUNCED_BYTES ? Buffer.allocUnsafeSlow(announced + SPARE_BYTES) : null;
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => {
      fail(
        new ApiError(408, `The request body did not arrive within ${timeoutMs / 1000} s.`, {
          code: 'request_timeout',
          headers: { connection: 'close' },
        }),
      );
    }, timeoutMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      request.removeAllListeners('data');
      // The rest is discarded on arrival, so that the answer reaches a client that is still sending.
      request.resume();
      reject(error);
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) return fail(tooLarge());
      try {
        if (size > announced) onSize(size);
      } catch (error) {
        return fail(error as Error);
      }
      if (memory !== null) chunk.copy(memory, size - chunk.length);
      else chunks.push(chunk);
    });
    const gone = () => fail(new Error('The client went away.'));
    request.once('end', () => {
      clearTimeout(timer);
      // Every request is closed at some time. An error with its stack for each took a twelfth of the gateway's time.
      request.off('close', gone);
      if (memory !== null) return resolve({ bytes: memory.subarray(0, size), spare: memory.length - size });
      resolve({ bytes: Buffer.concat(chunks, size), spare: 0 });
    });
    request.once('error', fail);
    request.once('close', gone);
  });
}
