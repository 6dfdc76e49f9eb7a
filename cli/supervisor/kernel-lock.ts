import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { findProcess, holderOfSocket, type ProcessId } from './processes';

/**
 * A lock held by the kernel: an abstract socket of Linux, at which no second process can listen. It ends with its
 * process in every case, and needs no file. So neither a full disk nor a torn lock file matters.
 */
export interface KernelLock {
  /** Gives the lock back. */
  release(): Promise<void>;
}

const ANSWER_MS = 2_000;

/** Address of a lock for one purpose in one state directory. Links in the path make no difference. */
export function lockAddress(purpose: string, home: string): string {
  let path = home;
  try {
    path = realpathSync(home);
  } catch {
    // The path does not exist yet.
  }
  return `\0whet-${purpose}-${createHash('sha256').update(path).digest('hex').slice(0, 24)}`;
}

/**
 * Takes a lock; null if another process holds it. A process that connects to a held lock gets the text of `answer`. The
 * lock does not keep the process alive.
 */
export function tryLock(address: string, answer: () => string = () => ''): Promise<KernelLock | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end(answer());
    });
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
    server.listen(address, () => {
      server.unref();
      server.on('error', () => undefined);
      resolve({ release: () => new Promise((done) => server.close(() => done())) });
    });
  });
}

/** The answer of a lock's holder; null if nobody holds it, or if the holder does not answer for two seconds. */
export function askHolder(address: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const parts: Buffer[] = [];
    const end = (answer: string | null) => {
      socket.destroy();
      resolve(answer);
    };
    // The limit is on the total time, not on the time between two bytes.
    const timer = setTimeout(() => end(null), ANSWER_MS);
    socket.on('data', (part: Buffer) => parts.push(part));
    socket.once('end', () => end(Buffer.concat(parts).toString('utf8')));
    socket.once('error', () => end(null));
    socket.once('close', () => clearTimeout(timer));
  });
}

/** The process of this user that holds a lock; null if there is none. Processes of other users are invisible. */
export function holderOf(address: string): ProcessId | null {
  const inode = inodeOf(address);
  const pid = inode === null ? null : holderOfSocket(inode);
  return pid === null ? null : findProcess(pid);
}

/** Inode of the abstract socket that listens at an address, according to /proc/net/unix. */
function inodeOf(address: string): string | null {
  for (const line of readFileSync('/proc/net/unix', 'utf8').split('\n')) {
    const [, , , flags, , , inode, path] = line.trim().split(/\s+/);
    // Flag 10000 means that it listens. Connected ends have the same address.
    if (path === `@${address.slice(1)}` && flags === '00010000' && inode !== undefined) return inode;
  }
  return null;
}
