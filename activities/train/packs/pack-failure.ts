import { join } from 'node:path';
import { z } from 'zod';
import { FAILURES, type FailureType } from '../../../contracts/failures/run';
import { createFile, readIfExists } from '../../../store';
import type { TrainerGroup } from '../trainer-group';

const schema = z.object({
  type: z.enum(Object.keys(FAILURES) as [FailureType, ...FailureType[]]),
  message: z.string(),
});
/** The failure with which a pack's trainer was given up. Every member that is not done fails with it. */
type PackFailure = z.infer<typeof schema>;

const path = ({ directory }: TrainerGroup) => join(directory, 'verdict.json');

/** Reads why a pack's trainer was given up; null when it was not. */
export async function readPackFailure(group: TrainerGroup): Promise<PackFailure | null> {
  const text = await readIfExists(path(group));
  return text === null ? null : schema.parse(JSON.parse(text));
}

/**
 * Records that a pack's trainer is given up for all its members; the first record stays. Called before the trainer is
 * removed, because a member's attempt that sees no trainer and no record would start it again.
 */
export async function recordPackFailure(group: TrainerGroup, failure: PackFailure): Promise<void> {
  await createFile(path(group), `${JSON.stringify(failure, null, 2)}\n`);
}
