import { Context } from '@temporalio/activity';
import type { DamagedLines } from '../store';

/** Writes a warning to the worker's log when lines of a work file were left out. Must run inside an activity. */
export function warnOfDamage(damaged: DamagedLines): void {
  if (damaged.count > 0) Context.current().log.warn(damaged.describe(), { lines: damaged.first });
}
