import type { Dispatcher } from 'undici';
import { GrowingBuffer } from './growing-buffer';

/** Most bytes of an answer to a question of the gateway's own. */
const MOST_ANSWER_BYTES = 4_000_000;

/**
 * The text of an answer to a question of the gateway's own. Rejects, and closes the connection, when it is larger than
 * `most` bytes: a model server must not fill the gateway's memory, with many small chunks neither.
 */
export async function readText(body: Dispatcher.ResponseData['body'], most = MOST_ANSWER_BYTES): Promise<string> {
  const answer = new GrowingBuffer();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (answer.length + chunk.length > most) throw new Error(`A model server answered with more than ${most} bytes.`);
    answer.append(chunk);
  }
  return answer.take().toString('utf8');
}
