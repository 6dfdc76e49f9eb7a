/** A small disk of one's own, to be filled: ENOSPC from the kernel, not from a fake. */
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, rmSync, statSync, truncateSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';

/** A process in a mount namespace in which one directory is a tmpfs of 8 MiB. */
export interface OnSmallDisk {
  child: ChildProcess;
  /** Path of a file on that disk, as this process sees it. */
  path(name: string): string;
  /** Leaves not a byte. */
  fill(): void;
  /** Makes room again. */
  free(): void;
}

/** Starts a command on a small disk at `directory`. Needs root, or user namespaces as the jail does. */
export function startOnSmallDisk(directory: string, command: string[], env: NodeJS.ProcessEnv): OnSmallDisk {
  const script = 'mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@"';
  const child = spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', script, directory, ...command], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout?.resume();
  const path = (name: string) => join(`/proc/${child.pid}/root${directory}`, name);
  return {
    child,
    path,
    fill() {
      const file = openSync(path('filling'), 'w');
      try {
        for (const size of [1 << 16, 1]) {
          for (;;) {
            try {
              writeSync(file, Buffer.alloc(size));
            } catch (error) {
              if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
              break;
            }
          }
        }
      } finally {
        closeSync(file);
      }
      if (statSync(path('filling')).size === 0) throw new Error('The disk was not filled.');
    },
    free() {
      truncateSync(path('filling'));
      rmSync(path('filling'));
    },
  };
}
