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
 * Resolves to a sentence when there is more in a folder than an episode may put there. Resolves to null after the
 * signal. What cannot be read does not count.
 * @param room for tests.
 */
export async function whenFolderIsFull(folder: string, signal: AbortSignal, room = ROOM): Promise<string | null> {
  while (!signal.aborted) {
    const what = await tooMuch(folder, room);
    if (what !== null) return `The program put more than ${what} into its folder.`;
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
        if (++count > files) return `${files} files`;
        const path = join(place, entry.name);
        if (entry.isDirectory()) pending.push(path);
        else sum += (await lstat(path)).blocks * 512;
        if (sum > bytes) return `${bytes} bytes`;
      }
    } catch {
      // It was removed meanwhile, or its path is longer than the kernel takes.
    }
  }
  return null;
}
