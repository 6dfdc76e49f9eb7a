import { createHmac } from 'node:crypto';
import { failure } from '../../contracts/typed-failure';
import { startOf } from '../../contracts/clean-text';
import type { WebhookTarget } from '../endpoints/webhook-target';

/** Longest time of one attempt. */
const TIMEOUT_MS = 10_000;
/** Largest number of characters of the answer that a failure quotes. */
const MAX_QUOTE = 200;
/** Largest number of bytes that are read of the answer. */
const MAX_ANSWER = 4_096;

/** Status codes after which the same notice may be accepted later. */
const isPassing = (status: number) => status === 408 || status === 425 || status === 429 || status >= 500;

/** The signature of Slack's scheme v0: HMAC-SHA256, in hex, of `v0:<timestamp>:<body>`. */
export function signatureOf(secret: string, timestamp: number, body: string): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
}

/**
 * Posts a notice. `id` is the same in every attempt, so that a receiver can drop repeats.
 * @throws Notify.Unreachable if a later attempt may succeed, Notify.Refused if none will.
 */
export async function postNotice(
  { url, secret }: WebhookTarget,
  id: string,
  body: string,
  signal?: AbortSignal,
): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1000);
  const { origin } = new URL(url);
  const limits = [AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])];
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      // A redirect would lead to a server that the operator has not allowed.
      redirect: 'manual',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'idempotency-key': id,
        'x-whetstone-request-timestamp': String(timestamp),
        ...(secret !== null && { 'x-whetstone-signature': signatureOf(secret, timestamp, body) }),
      },
      body,
      signal: AbortSignal.any(limits),
    });
  } catch (error) {
    signal?.throwIfAborted();
    // The whole address may be a secret.
    const cause = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name;
    throw failure('Notify.Unreachable', `The webhook on ${origin} did not answer (${cause}).`);
  }
  const quote = await beginningOf(response);
  if (response.ok) return;
  const answer = `The webhook on ${origin} answered ${response.status}${quote === '' ? '' : `: ${quote}`}`;
  if (isPassing(response.status)) throw failure('Notify.Unreachable', answer);
  const redirected = response.status >= 300 && response.status < 400 ? ' Redirects are not followed.' : '';
  throw failure('Notify.Refused', `${answer}.${redirected}`);
}

/** The beginning of an answer as one line. An endless answer is not read to its end. */
async function beginningOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of response.body ?? []) {
      parts.push(part as Uint8Array);
      bytes += (part as Uint8Array).length;
      if (bytes >= MAX_ANSWER) break;
    }
  } catch {
    // The status is known; the answer's text matters little.
  }
  // `stream`: the first bytes of a character that breaks off are left out.
  const text = new TextDecoder().decode(Buffer.concat(parts), { stream: true });
  return startOf(text.replace(/[\s\p{Cc}]+/gu, ' ').trim(), MAX_QUOTE);
}
