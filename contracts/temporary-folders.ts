import { execFile } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findProcess, isRunning, processIds } from './running-process';

/** What a temporary folder is for, as its name begins. */
type Purpose = 'whet-episode' | 'whet-ingest' | 'whetstone-pipes';

/** Names that `makeTemporaryFolder` gives: pid namespace, number and start time of the process that made the folder. */
const NAME = /^(?:whet-episode|whet-ingest|whetstone-pipes)-(\d+)-(\d+)-(\d+)-[A-Za-z0-9]{6}$/;
/** How often processes of a folder are looked for: each may start another one before it ends. */
const MOST_LOOKS = 50;
/** Users that no person has; jails of a worker that is root run as some of them (sandbox/profile.json, `uids`). */
const JAIL_USERS = { first: 61_200, count: 2_048 };

/** Numbers of processes mean something in one namespace only. Two workers in two containers may share a folder. */
const ownNamespace = (): string => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0];

/**
 * Makes a folder for temporary files. Its name says which process made it, so that `removeLeftFolders` knows when it is
 * left behind.
 * @param place default: the system's temporary folder.
 */
export function makeTemporaryFolder(purpose: Purpose, place = tmpdir()): Promise<string> {
  const { pid, startTicks } = findProcess(process.pid)!;
  return mkdtemp(join(place, `${purpose}-${ownNamespace()}-${pid}-${startTicks}-`));
}

/** Removes a folder, whatever was put into it. Links are not followed. @throws Error if something of it is left. */
export async function removeTemporaryFolder(folder: string): Promise<void> {
  // Its paths may be longer than the kernel takes; the command goes from folder to folder.
  await rm(folder, { recursive: true, force: true }).catch(() => removeByCommand(folder));
}

const removeByCommand = (folder: string) => promisify(execFile)('rm', ['-rf', '--one-file-system', '--', folder]);

/**
 * Removes the temporary folders of processes that were killed, and kills what still runs with one of them: processes
 * with a path in it in their environment. Folders of processes that run, of other users, and of other containers stay.
 * @param place default: the system's temporary folder.
 * @returns the folders that were removed.
 */
export async function removeLeftFolders(place = tmpdir()): Promise<string[]> {
  const left = readdirSync(place)
    .filter((name) => isLeft(place, name))
    .map((name) => join(place, name));
  const removed: string[] = [];
  for (const folder of left) {
    await killUsersOf(folder);
    // This command follows no link, even one that is put there meanwhile. What is left, the next process tries again.
    await removeByCommand(folder).then(
      () => removed.push(folder),
      () => undefined,
    );
  }
  return removed;
}

function isLeft(place: string, name: string): boolean {
  const [, namespace, pid, startTicks] = NAME.exec(name) ?? [];
  if (namespace !== ownNamespace() || isRunning({ pid: Number(pid), startTicks: Number(startTicks) })) return false;
  const found = lstatSync(join(place, name), { throwIfNoEntry: false });
  return found?.isDirectory() === true && (found.uid === process.getuid?.() || isJailUser(found.uid));
}

const isJailUser = (uid: number): boolean =>
  process.getuid?.() === 0 && uid >= JAIL_USERS.first && uid < JAIL_USERS.first + JAIL_USERS.count;

async function killUsersOf(folder: string): Promise<void> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    const found = processIds().filter((pid) => environmentOf(pid).some((entry) => entry.includes(`=${folder}/`)));
    if (found.length === 0) return;
    for (const pid of found) kill(pid);
    await sleep(20);
  }
}

/** Empty for a process of another user, and for one that has ended. */
function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
