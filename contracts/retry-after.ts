/** The longest wait that a server can ask for, in milliseconds: a longer one would be a run that stands still. */
const LONGEST_MS = 3_600_000;

/**
 * Milliseconds that a server asks to wait, at most an hour: `retry-after-ms`, else `retry-after` in seconds or as an
 * HTTP date; null for neither, or for one that cannot be read. `now` is in milliseconds since the epoch.
 */
export function retryAfterMs(
  { ms, after }: { ms?: string | null | undefined; after?: string | null | undefined },
  now: number,
): number | null {
  const milliseconds = Number.parseFloat(ms ?? '');
  if (Number.isFinite(milliseconds)) return inBounds(milliseconds);
  if (!after?.trim()) return null;
  const seconds = Number(after);
  if (!Number.isNaN(seconds)) return inBounds(seconds * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? null : inBounds(date - now);
}

const inBounds = (ms: number): number => Math.round(Math.min(Math.max(0, ms), LONGEST_MS));
