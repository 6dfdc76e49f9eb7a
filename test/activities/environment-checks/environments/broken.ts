import type { BrokenEnvironment } from './broken-environment';
import { BROKEN_IN_TRAINING } from './broken-in-training';
import { BROKEN_PROGRAMS } from './broken-programs';
import { BROKEN_REWARDS } from './broken-rewards';

/** Each is `good/replaying_class.py` with its edits, by name of the fault. */
export const BROKEN: Record<string, BrokenEnvironment> = {
  ...BROKEN_REWARDS,
  ...BROKEN_PROGRAMS,
  ...BROKEN_IN_TRAINING,
};

/** The source with the edits made. Throws RangeError when a passage does not occur exactly once. */
export function edited(good: string, edits: BrokenEnvironment['edits']): string {
  return edits.reduce((source, [passage, instead]) => {
    const parts = source.split(passage);
    if (parts.length !== 2)
      throw new RangeError(`The good environment has ${parts.length - 1} passages ${JSON.stringify(passage)}.`);
    return parts.join(instead);
  }, good);
}

/** The source of a broken environment. */
export const breakEnvironment = (good: string, { edits }: BrokenEnvironment): string => edited(good, edits);
