import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Size of the file system of a state directory that can be full. A run needs about 50 MB. */
const SIZE_MB = 256;
const BALLAST = 'ballast';
const CHUNKS = [1 << 20, 1 << 12, 1];

/** Whether this process has a mount namespace of its own, which test/faults/chaos makes where it may. */
export const canFillDisks = (): boolean => process.env['CHAOS_MOUNT_NAMESPACE'] !== undefined;

/** Mounts a small file system at a directory. */
export function mountSmall(directory: string): void {
  mkdirSync(directory, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m`, 'chaos', directory]);
}

/** Ends the small file system of a directory. What was in it is copied to the disk, for people who look at it later. */
export function unmountSmall(directory: string): void {
  const copy = `${directory}.copy`;
  execFileSync('cp', ['-a', directory, copy]);
  execFileSync('umount', ['--lazy', directory]);
  execFileSync('rmdir', [directory]);
  execFileSync('mv', [copy, directory]);
}

/** Takes the last free byte of a directory's file system. Repeat it: whoever removes a file makes room again. */
export function fillDisk(directory: string): void {
  const file = openSync(join(directory, BALLAST), 'a');
  try {
    for (const size of CHUNKS) {
      const chunk = Buffer.alloc(size);
      try {
        while (writeSync(file, chunk) === size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(file);
  }
}

/** Makes room again. */
export function freeDisk(directory: string): void {
  if (existsSync(join(directory, BALLAST))) rmSync(join(directory, BALLAST));
}
