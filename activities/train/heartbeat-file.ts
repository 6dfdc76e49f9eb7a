import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The trainer waits an hour for the next touch (docs/reference/protocols.md, section 6). */
const EVERY_MS = 60_000;

/**
 * Tells the trainer of a directory that a worker still wants its result, now and every minute until the returned
 * function is called. A trainer that is not told for an hour saves a checkpoint and ends, so that a forgotten one does
 * not occupy its GPU for ever.
 */
export async function keepHeartbeat(directory: string): Promise<() => void> {
  const path = join(directory, 'attended');
  // A full disk must not end the training for this: the trainer goes on for an hour without it.
  const touch = async (): Promise<void> => {
    const now = new Date();
    await utimes(path, now, now).catch(() => writeFile(path, '').catch(() => undefined));
  };
  await touch();
  const timer = setInterval(() => void touch(), EVERY_MS).unref();
  return () => clearInterval(timer);
}
