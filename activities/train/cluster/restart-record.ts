import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { RestartCounts } from '../../../k8s/next-action';
import { replaceFile } from '../../../store';

const count = z.number().int().nonnegative();
/** `last`: the Job that was forgiven last, so that several who watch it count it once. */
const schema = z.object({
  disruptions: count,
  stalls: count,
  last: z.object({ job: z.string(), counts: z.enum(['disruptions', 'stalls']) }).optional(),
});
const path = (directory: string) => join(directory, 'cluster', 'patience.json');

/** What this trainer has been forgiven before the Job of that uid. */
export async function readRestarts(directory: string, jobUid: string): Promise<RestartCounts> {
  const text = await readFile(path(directory), 'utf8').catch(() => null);
  if (text === null) return { disruptions: 0, stalls: 0 };
  const { last, ...counted } = schema.parse(JSON.parse(text));
  return last?.job === jobUid ? { ...counted, [last.counts]: counted[last.counts] - 1 } : counted;
}

/** Forgives a Job; the same one again counts once. */
export async function recordRestart(directory: string, jobUid: string, counts: keyof RestartCounts): Promise<void> {
  const before = await readRestarts(directory, jobUid);
  await write(directory, { ...before, [counts]: before[counts] + 1, last: { job: jobUid, counts } });
}

/** Forgets what was forgiven. */
export function resetRestarts(directory: string): Promise<void> {
  return write(directory, { disruptions: 0, stalls: 0 });
}

function write(directory: string, patience: z.infer<typeof schema>): Promise<void> {
  return replaceFile(path(directory), `${JSON.stringify(patience)}\n`);
}
