import { join } from 'node:path';
import { z } from 'zod';
import type { RestartCounts } from '../../k8s/next-action';
import { replaceFile } from '../../store';
import { readJsonFile } from './files';

const count = z.int().nonnegative();
/** How often a trainer was started or replaced since its last checkpoint, by cause. */
const countsSchema = z.object({
  /** Number of starts of a local trainer. */
  starts: count,
  disruptions: count,
  stalls: count,
  crashes: count,
}) satisfies z.ZodType<RestartCounts>;
type Counts = z.infer<typeof countsSchema>;
/**
 * `iterations`: the group's iterations in checkpoints at the last count. `last`: the Job that was replaced last, and
 * its counter; null for local trainers. With both, several workers that watch the Job count the replacement only once.
 */
const schema = countsSchema.extend({
  iterations: count,
  last: z.object({ job: z.string(), counter: countsSchema.keyof() }).nullable(),
});
type RestartRecord = z.infer<typeof schema>;

const NONE: RestartRecord = { starts: 0, disruptions: 0, stalls: 0, crashes: 0, iterations: 0, last: null };
const path = (directory: string) => join(directory, 'restarts.json');

/**
 * Reads the counts of a trainer group's directory. A new checkpoint means progress, so the counts then begin at 0
 * again.
 * @param iterations the group's iterations in checkpoints now.
 * @param job uid of the watched Job, whose own replacement does not count. Null for local trainers.
 */
export async function readRestarts(directory: string, iterations: number, job: string | null): Promise<Counts> {
  const { last, iterations: counted, ...counts } = await read(directory);
  if (iterations > counted) return countsSchema.parse(NONE);
  return last !== null && last.job === job ? { ...counts, [last.counter]: counts[last.counter] - 1 } : counts;
}

/** Counts a start, or the replacement of a Job. A second call for the same Job changes nothing. */
export async function recordRestart(
  directory: string,
  iterations: number,
  counter: keyof Counts,
  job: string | null,
): Promise<void> {
  const counts = await readRestarts(directory, iterations, job);
  const last = job === null ? null : { job, counter };
  await write(directory, { ...counts, [counter]: counts[counter] + 1, iterations, last });
}

/** Counts from 0 again, because the next start is a person's decision. */
export const resetRestarts = (directory: string): Promise<void> => write(directory, NONE);

/** A record that cannot be read, as after a full disk, counts as empty: then the trainer only gets more restarts. */
const read = async (directory: string): Promise<RestartRecord> =>
  (await readJsonFile(path(directory), schema).catch(() => null)) ?? NONE;

const write = (directory: string, record: RestartRecord): Promise<void> =>
  replaceFile(path(directory), `${JSON.stringify(record)}\n`);
