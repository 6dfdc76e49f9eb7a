import { join } from 'node:path';
import { z } from 'zod';
import { readIfExists, replaceFile } from '../../store';

/** Starts of a trainer of this machine without a new checkpoint, after which a person has to look. */
export const MAX_STARTS_WITHOUT_PROGRESS = 10;

const count = z.number().int().nonnegative();
const schema = z.object({ iterations: count, starts: count });
type StartRecord = z.infer<typeof schema>;

const NONE: StartRecord = { iterations: 0, starts: 0 };
const path = (directory: string): string => join(directory, 'starts.json');

/**
 * How often the trainer of a group's directory was started since its last checkpoint. A trainer that has made a new
 * checkpoint since then did not end at the same place, so its starts are counted anew.
 * @param iterations the group's iterations that are in checkpoints now.
 */
export async function startsWithoutProgress(directory: string, iterations: number): Promise<number> {
  const recorded = await read(directory);
  return iterations > recorded.iterations ? 0 : recorded.starts;
}

/** Counts a start, so that a death counts even when no worker lived to see it. */
export async function recordStart(directory: string, iterations: number): Promise<void> {
  const starts = (await startsWithoutProgress(directory, iterations)) + 1;
  await replaceFile(path(directory), `${JSON.stringify({ iterations, starts })}\n`);
}

/** Counts from 0 again, because the next start is a person's decision. */
export async function forgetStarts(directory: string): Promise<void> {
  await replaceFile(path(directory), `${JSON.stringify(NONE)}\n`);
}

/** A record that cannot be read counts as none. */
async function read(directory: string): Promise<StartRecord> {
  const text = await readIfExists(path(directory));
  try {
    return text === null ? NONE : schema.parse(JSON.parse(text));
  } catch {
    return NONE;
  }
}
