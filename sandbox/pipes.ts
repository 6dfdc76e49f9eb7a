import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeTemporaryFolder } from '../contracts/temporary-folders';

/**
 * Pipes between this process and a runtime. Node's own pipes are pairs of unix sockets. On any socket, in any
 * namespace, the kernel answers questions about the host's network cards. Node cannot make a pipe, so `mkfifo` makes
 * them, and their names are removed at once.
 */

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;
const run = promisify(execFile);

/** Number of pipes made by one call of `mkfifo`: enough for eight runtimes. */
const BATCH = 48;
/** Each is open in both directions, so that it exists even while nobody else has it open. */
const ready: number[] = [];
let making: Promise<void> | null = null;

/** A pipe, one end of which belongs to this process. */
export interface PipeEnd {
  /** Our end. It ends, or breaks, when the process at the other end is gone. */
  stream: Socket;
  /** The other end, for a child process. Close it once the child has it. */
  childFd: number;
}

/**
 * Opens one pipe for each requested direction; after an error none stays open.
 * @param directions `out`: we write and the child reads; `in`: the child writes and we read.
 * @throws the system's error, for example EMFILE.
 */
export async function openPipes<const D extends readonly ('in' | 'out')[]>(
  directions: D,
): Promise<{ [K in keyof D]: PipeEnd }> {
  while (ready.length < directions.length) await (making ??= makePipes().finally(() => (making = null)));
  const opened: PipeEnd[] = [];
  try {
    for (const direction of directions) opened.push(openEnds(ready.pop()!, direction));
  } catch (error) {
    for (const { stream, childFd } of opened) {
      stream.destroy();
      closeSync(childFd);
    }
    throw error;
  }
  return opened as { [K in keyof D]: PipeEnd };
}

/**
 * Our end does not block, but the child's end does. Each is opened separately, because duplicated descriptors would
 * share the setting.
 */
function openEnds(pipe: number, direction: 'in' | 'out'): PipeEnd {
  const path = `/proc/self/fd/${pipe}`;
  const own: number[] = [];
  const open = (flags: number): number => {
    const descriptor = openSync(path, flags);
    own.push(descriptor);
    return descriptor;
  };
  try {
    const childFd = open(direction === 'in' ? O_WRONLY : O_RDONLY);
    const fd = open((direction === 'in' ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
    const stream = new Socket({ fd, readable: direction === 'in', writable: direction === 'out' });
    // A pipe breaks when the process ends. The process's exit is reported, not the broken pipe.
    stream.on('error', () => {});
    return { stream, childFd };
  } catch (error) {
    own.forEach((descriptor) => closeSync(descriptor));
    throw error;
  } finally {
    closeSync(pipe);
  }
}

async function makePipes(): Promise<void> {
  const folder = await makeTemporaryFolder('whetstone-pipes');
  try {
    const paths = Array.from({ length: BATCH }, (_, index) => join(folder, String(index)));
    await run('mkfifo', ['-m', '600', ...paths]);
    for (const path of paths) ready.push(openSync(path, O_RDWR));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
