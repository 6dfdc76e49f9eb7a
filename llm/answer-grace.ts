import { CancelledFailure } from '@temporalio/common';

/**
 * A signal for a request that has been sent. If the activity is cancelled, the returned signal fires later than
 * `signal`, so that the answer in flight can arrive. That answer must be paid for anyway, and the next attempt would
 * request it again. In all other cases both fire together. `dispose` ends the waiting.
 */
export function afterGrace(
  signal: AbortSignal | undefined,
  graceMs: number,
): { signal: AbortSignal; dispose: () => void } {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    const wait = signal?.reason instanceof CancelledFailure ? graceMs : 0;
    timer = setTimeout(() => late.abort(signal?.reason), wait);
  };
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  const dispose = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  };
  return { signal: late.signal, dispose };
}
