import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { RestartCounts } from '../../../k8s/next-action';
import { replaceFile } from '../../../store';

const count = z.number().int().nonnegative();
/** `last`: the Job that was replaced last and its counter, so that several workers that watch it count it once. */
const schema = z.object({
  disruptions: count,
  stalls: count,
  last: z.object({ job: z.string(), counts: z.enum(['disruptions', 'stalls']) }).optional(),
});
const path = (directory: string) => join(directory, 'cluster', 'patience.json');

/** Reads how often the trainer of a directory was replaced before the Job with this uid. */
export async function readRestarts(directory: string, jobUid: string): Promise<RestartCounts> {
  const text = await readFile(path(directory), 'utf8').catch(() => null);
  if (text === null) return { disruptions: 0, stalls: 0 };
  const { last, ...counted } = schema.parse(JSON.parse(text));
  return last?.job === jobUid ? { ...counted, [last.counts]: counted[last.counts] - 1 } : counted;
}

/** Counts that a Job is replaced. A second call for the same Job changes nothing. */
export async function recordRestart(directory: string, jobUid: string, counter: keyof RestartCounts): Promise<void> {
  const before = await readRestarts(directory, jobUid);
  await write(directory, { ...before, [counter]: before[counter] + 1, last: { job: jobUid, counts: counter } });
}

/** Sets both counters to 0. */
export function resetRestarts(directory: string): Promise<void> {
  return write(directory, { disruptions: 0, stalls: 0 });
}

function write(directory: string, record: z.infer<typeof schema>): Promise<void> {
  return replaceFile(path(directory), `${JSON.stringify(record)}\n`);
}
