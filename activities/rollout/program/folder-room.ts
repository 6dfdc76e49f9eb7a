import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Most bytes and most files. */
export interface FolderRoom {
  bytes: number;
  files: number;
}

/** What an episode's folder may hold: it lies on a disk that all others need. */
const ROOM: FolderRoom = { bytes: 2 ** 31, files: 20_000 };
/** Between two looks. */
const PAUSE_MS = 5_000;

/**
 * Resolves to a sentence when there is more in a folder than an episode may put there, or when a part of it cannot be
 * looked at: a program could hide files there. Resolves to null after the signal.
 * @param room for tests.
 */
export async function whenFolderIsFull(folder: string, signal: AbortSignal, room = ROOM): Promise<string | null> {
  while (!signal.aborted) {
    const what = await tooMuch(folder, room);
    if (what !== null) return `The program put ${what} into its folder.`;
    await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
  return null;
}

async function tooMuch(folder: string, { bytes, files }: FolderRoom): Promise<string | null> {
  let [sum, count] = [0, 0];
  for (const pending = [folder]; pending.length > 0;) {
    const place = pending.pop()!;
    try {
      for await (const entry of await opendir(place)) {
        if (++count > files) return `more than ${files} files`;
        const path = join(place, entry.name);
        if (entry.isDirectory()) pending.push(path);
        else sum += (await lstat(path)).blocks * 512;
        if (sum > bytes) return `more than ${bytes} bytes`;
      }
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      // It was removed meanwhile.
      if (!['ENOENT', 'ENOTDIR'].includes(code)) return `a folder that cannot be looked at (${code})`;
    }
  }
  return null;
}
