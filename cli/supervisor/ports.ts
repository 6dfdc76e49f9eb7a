import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';

/** Whether a process could listen at a port of this machine's loopback address. */
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

const tryConnecting = (host: string, port: number, timeoutMs: number): Promise<'accepted' | 'refused' | 'silent'> =>
  new Promise((resolve) => {
    const socket = connect({ port, host, timeout: timeoutMs });
    const end = (answer: 'accepted' | 'refused' | 'silent') => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end('accepted'));
    socket.once('error', () => end('refused'));
    socket.once('timeout', () => end('silent'));
  });

/** Whether a TCP connection is accepted there within two seconds. Never throws. */
export const accepts = async (host: string, port: number): Promise<boolean> =>
  (await tryConnecting(host, port, 2_000)) === 'accepted';

/** Whether nobody listens there: connections are refused. False for a host that is only slow. Never throws. */
export const refuses = async (host: string, port: number): Promise<boolean> =>
  (await tryConnecting(host, port, 2_000)) === 'refused';

/**
 * Ports that systems give to nobody by themselves: below those of outgoing connections, above those of well-known
 * services, and below the node ports of Kubernetes.
 */
const UNASKED_PORTS = { first: 20_000, count: 10_000 };
/** Draws before it gives up: so many that fail mean that something else than ports is wrong. */
const MOST_TRIES = 1_000;

/**
 * A port at which nobody listens at this moment. No outgoing connection takes it before its service listens. Throws
 * when none was found.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const port = UNASKED_PORTS.first + Math.floor(Math.random() * UNASKED_PORTS.count);
    if (await isFree(port, host)) return port;
  }
  const { first, count } = UNASKED_PORTS;
  const last = first + count - 1;
  throw new Error(`None of ${MOST_TRIES} ports that were tried from ${first} to ${last} is free at ${host}.`);
}

/**
 * Who listens at a port, for a message: `process 4211 (temporal server start-dev ...)`; null when that cannot be seen.
 */
export function whoListens(port: number): string | null {
  const inode = listeningInode(port);
  if (inode === null) return null;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const holds = readdirSync(`/proc/${pid}/fd`).some((fd) => {
        try {
          return readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`;
        } catch {
          return false;
        }
      });
      if (!holds) continue;
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim().slice(0, 80);
      return `process ${pid} (${command})`;
    } catch {
      // Another user's process, or one that just ended.
    }
  }
  return null;
}

/** Inode of the socket that listens at a port (state 0A in /proc/net/tcp); null when there is none. */
function listeningInode(port: number): string | null {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      continue;
    }
    for (const line of text.split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[3] === '0A' && fields[1]?.endsWith(`:${hex}`)) return fields[9] ?? null;
    }
  }
  return null;
}
