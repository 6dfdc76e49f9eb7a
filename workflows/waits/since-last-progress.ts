import type { FailureReport, RepeatedFailure } from '../../contracts/messages/run';

/**
 * Since when the attempts of an activity get nowhere: its first report, or the end of the last attempt that got on. The
 * activity may have been scheduled long before, and have worked since.
 */
export function sinceLastProgress(
  before: RepeatedFailure | undefined,
  { sinceMs, gotOn }: FailureReport,
  nowMs: number,
): number {
  return before?.sinceMs === sinceMs && !gotOn ? before.stillSinceMs : nowMs;
}
