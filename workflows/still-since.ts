import type { RepeatedFailure } from '../contracts/messages/run';

/**
 * Since when the attempts of an activity get nowhere: its first report, or the end of the last attempt that got on. The
 * activity may have been scheduled long before, and have worked since.
 */
export function stillSince(
  before: RepeatedFailure | undefined,
  { sinceMs, gotOn }: RepeatedFailure,
  nowMs: number,
): number {
  const known = before?.sinceMs === sinceMs ? before.stillSinceMs : undefined;
  return gotOn === true ? nowMs : (known ?? nowMs);
}
