import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ReadRunStatus } from './run-over';

/**
 * Time without a touch after which a training counts as abandoned, if this Temporal does not know its run. Its workers
 * touch the file `attended` every minute. Without touches a trainer ends by itself after an hour. This limit is longer,
 * because workers may be replaced meanwhile, and the clocks of two machines may differ.
 */
const SILENT_MS = 90 * 60_000;

/** The path pattern of a training's or trial's directory in the store, with the run that it belongs to. */
const RUN_OF = /^runs\/(.+?)\/(?:training|trial)\//;

/** The run of a directory's key in the store; null if the directory is not a training's. */
export function runOfKey(key: string): string | null {
  return RUN_OF.exec(key)?.[1] ?? null;
}

/** Directories of the trainings in a trainer's arguments. */
export const directoriesOf = (words: readonly string[]): string[] =>
  words.flatMap((word, index) => (words[index - 1] === '--job' ? [dirname(word)] : []));

/**
 * Whether a trainer is no longer needed, because its run has ended. A run that this Temporal server does not know may
 * belong to another server that shares the store. Then its trainer is not stopped as long as a worker follows it.
 * @param directories absolute paths of its trainings.
 * @throws if Temporal does not answer.
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

/** False if the file is missing, because the time of the last touch is unknown. */
async function isSilent(directory: string): Promise<boolean> {
  const attended = await stat(join(directory, 'attended')).catch(() => null);
  return attended !== null && Date.now() - attended.mtimeMs > SILENT_MS;
}
