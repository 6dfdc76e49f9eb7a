import type { IncomingHttpHeaders } from 'node:http';

/**
 * Headers of a model server's answer that are passed to the client. All others are dropped: they concern the
 * connection, or instruct browsers and proxies about the gateway's own address.
 */
const FORWARDED = new Set(['cache-control', 'retry-after', 'server-timing', 'x-accel-buffering', 'x-request-id']);
const FORWARDED_PREFIXES = ['openai-', 'x-ratelimit-'];

/** Visible ASCII, because some readers of headers treat other bytes as control characters. */
const PLAIN = /^[\t\u0020-\u007e]*$/;

/** The client's headers for a model server's answer whose content was checked to be of this type. */
export function answerHeaders(
  headers: IncomingHttpHeaders,
  contentType: 'application/json' | 'text/event-stream',
): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = { 'content-type': contentType };
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || !isForwarded(name)) continue;
    if ([value].flat().every((text) => PLAIN.test(text))) kept[name] = value;
  }
  return kept;
}

const isForwarded = (name: string): boolean =>
  FORWARDED.has(name) || FORWARDED_PREFIXES.some((prefix) => name.startsWith(prefix));
