import type { Dispatcher } from 'undici';

/** Most bytes of an answer to a question of the gateway's own. */
const MOST_ANSWER_BYTES = 4_000_000;

/**
 * The text of an answer to a question of the gateway's own. Rejects, and closes the connection, when it is larger than
 * `most` bytes: a model server must not fill the gateway's memory.
 */
export async function readText(body: Dispatcher.ResponseData['body'], most = MOST_ANSWER_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new Error(`A model server answered with more than ${most} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}
