import { randomBytes } from 'node:crypto';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Less free space counts as full, because databases and checkpoints need more for their next write. */
const LEAST_BYTES = 1 << 20;
const PROBE_BYTES = 4_096;

/** The meaning of a failed write, by code of the system's error. */
const MEANINGS: Record<string, string> = {
  ENOSPC: 'is full',
  EDQUOT: "is full: this user's quota is used up",
  EROFS: 'is read-only',
  EIO: 'gives input and output errors',
};

/**
 * The problem of a directory's disk, as a sentence with the remedy; null if it is writable, or if the directory does
 * not exist. It writes a small file and removes it. Only this reveals a quota, or a disk that became read-only. `name`
 * is the variable that sets the directory.
 */
export function diskProblem(directory: string, name: string): string | null {
  const sentence = (what: string) =>
    `The disk of ${name} (${directory}) ${what}. Free space there: everything goes on by itself.`;
  try {
    const { bavail, bsize } = statfsSync(directory);
    if (bavail * bsize < LEAST_BYTES)
      return sentence(`is full: ${Math.floor((bavail * bsize) / 1024)} KiB are left for this user`);
  } catch {
    return null;
  }
  const probe = join(directory, `.write-probe-${randomBytes(6).toString('hex')}`);
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { flag: 'wx' });
    return null;
  } catch (error) {
    const meaning = MEANINGS[(error as NodeJS.ErrnoException).code ?? ''];
    return meaning === undefined ? null : sentence(meaning);
  } finally {
    try {
      rmSync(probe, { force: true });
    } catch {
      // On a disk that became read-only, the file was never made.
    }
  }
}
