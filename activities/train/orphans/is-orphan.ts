import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ReadRunStatus } from './run-over';

/**
 * Silence after which nobody follows a training of a run that this Temporal does not know. Its workers touch the file
 * `attended` every minute. A trainer ends by itself after an hour without them, so this limit is longer: workers may be
 * replaced in the meantime, and the clocks of two machines may differ.
 */
const SILENT_MS = 90 * 60_000;

/** Directories of trainings and trials in the store, and the run that each belongs to. */
const RUN_OF = /^runs\/(.+?)\/(?:training|trial)\//;

/** The run of a directory's key in the store; null when it is no directory of a training. */
export function runOfKey(key: string): string | null {
  return RUN_OF.exec(key)?.[1] ?? null;
}

/** Directories of the trainings that a trainer was started with, from its arguments. */
export const directoriesOf = (words: readonly string[]): string[] =>
  words.flatMap((word, index) => (words[index - 1] === '--job' ? [dirname(word)] : []));

/**
 * Whether a trainer is no longer needed, because its run has ended. A run that this Temporal server does not know may
 * belong to another server that shares the store. Its trainer is then left alone as long as a worker follows it.
 * @param directories absolute paths of the trainings that it runs.
 * @throws when Temporal does not answer.
 */
export async function isOrphan(
  runId: string,
  directories: readonly string[],
  readStatus: ReadRunStatus,
): Promise<boolean> {
  const status = await readStatus(runId);
  if (status !== 'unknown') return status === 'over';
  const silent = await Promise.all(directories.map(isSilent));
  return silent.length > 0 && silent.every(Boolean);
}

/** False where the file is missing: nothing says when a worker last followed the training. */
async function isSilent(directory: string): Promise<boolean> {
  const attended = await stat(join(directory, 'attended')).catch(() => null);
  return attended !== null && Date.now() - attended.mtimeMs > SILENT_MS;
}
