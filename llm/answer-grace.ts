import { CancelledFailure } from '@temporalio/common';

/**
 * A signal for a request that has been sent. If the activity is cancelled, it fires later than `signal`: the answer in
 * flight will be paid for, and the next attempt would ask for it again. It fires with `signal` in all other cases.
 * `dispose` ends the waiting.
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
