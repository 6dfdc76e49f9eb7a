import { join } from 'node:path';
import { z } from 'zod';
import type { RestartCounts } from '../../../k8s/next-action';
import { readIfExists, replaceFile } from '../../../store';

const count = z.number().int().nonnegative();
/**
 * `last`: the Job that was replaced last and its counter, so that several workers that watch it count it once.
 * `iteration`: that of the checkpoint when it was replaced.
 */
const schema = z.object({
  disruptions: count,
  stalls: count,
  crashes: count.default(0),
  iteration: count.default(0),
  last: z.object({ job: z.string(), counts: z.enum(['disruptions', 'stalls', 'crashes']) }).optional(),
});
type RestartRecord = z.infer<typeof schema>;

const NONE = { disruptions: 0, stalls: 0, crashes: 0, iteration: 0 };
const path = (directory: string) => join(directory, 'cluster', 'patience.json');

/**
 * Reads how often the trainer of a directory was replaced before the Job with this uid, and since its last checkpoint:
 * a trainer that has made a new checkpoint did not end at the same place.
 * @param iteration that of its last checkpoint.
 */
export async function readRestarts(directory: string, jobUid: string, iteration: number): Promise<RestartCounts> {
  const { disruptions, stalls, crashes } = await before(directory, jobUid, iteration);
  return { disruptions, stalls, crashes };
}

/** Counts that a Job is replaced. A second call for the same Job changes nothing. */
export async function recordRestart(
  directory: string,
  jobUid: string,
  counter: keyof RestartCounts,
  iteration: number,
): Promise<void> {
  const counts = await before(directory, jobUid, iteration);
  const last = { job: jobUid, counts: counter };
  await write(directory, { ...counts, [counter]: counts[counter] + 1, iteration, last });
}

/** Sets all counters to 0. */
export function resetRestarts(directory: string): Promise<void> {
  return write(directory, NONE);
}

async function before(directory: string, jobUid: string, iteration: number): Promise<Omit<RestartRecord, 'last'>> {
  const { last, ...counted } = await read(directory);
  if (iteration > counted.iteration) return { ...NONE, iteration };
  return last?.job === jobUid ? { ...counted, [last.counts]: counted[last.counts] - 1 } : counted;
}

/** A record that cannot be read, as after a full disk, counts as none: it is only patience that is lost. */
async function read(directory: string): Promise<RestartRecord> {
  const text = await readIfExists(path(directory));
  try {
    return text === null ? NONE : schema.parse(JSON.parse(text));
  } catch {
    return NONE;
  }
}

function write(directory: string, record: RestartRecord): Promise<void> {
  return replaceFile(path(directory), `${JSON.stringify(record)}\n`);
}
