import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { FAILURES, type FailureType } from '../../../contracts/failures/run';
import { createFile } from '../../../store';
import type { TrainerGroup } from '../trainer-group';

const schema = z.object({
  type: z.enum(Object.keys(FAILURES) as [FailureType, ...FailureType[]]),
  message: z.string(),
});
export type PackFailure = z.infer<typeof schema>;

const path = ({ directory }: TrainerGroup) => join(directory, 'verdict.json');

/** Why a pack's trainer was given up as a whole; null while it was not. */
export async function readPackFailure(group: TrainerGroup): Promise<PackFailure | null> {
  const text = await readFile(path(group), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : schema.parse(JSON.parse(text));
}

/**
 * Gives a pack's trainer up for all of its members, before it is removed: one who has not looked yet would start it
 * again. The first word counts.
 */
export async function recordPackFailure(group: TrainerGroup, verdict: PackFailure): Promise<void> {
  await createFile(path(group), `${JSON.stringify(verdict, null, 2)}\n`);
}
