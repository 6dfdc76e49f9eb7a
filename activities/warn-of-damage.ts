import { Context } from '@temporalio/activity';
import type { DamagedLines } from '../store';

/** Logs a warning in the worker's log if lines of a work file were left out. Must run inside an activity. */
export function warnOfDamage(damaged: DamagedLines): void {
  if (damaged.count > 0) Context.current().log.warn(damaged.describe(), { lines: damaged.first });
}
