import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tryLock } from './kernel-lock';
import { holderOfSocket } from './processes';
import { startOf } from '../../contracts/clean-text';

const LOOPBACK = '127.0.0.1';

/** Whether a process could listen at this port of the machine's loopback address. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => server.close(() => resolve(true)));
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

/** Whether the port accepts a TCP connection within two seconds. Never throws. */
export const accepts = async (host: string, port: number): Promise<boolean> =>
  (await tryConnecting(host, port, 2_000)) === 'accepted';

/** Whether nobody listens there, so that connections are refused. False for a slow host. Never throws. */
export const refuses = async (host: string, port: number): Promise<boolean> =>
  (await tryConnecting(host, port, 2_000)) === 'refused';

/**
 * Ports that no system assigns by itself: they are below the ports of outgoing connections, above the ports of
 * well-known services, and below the node ports of Kubernetes.
 */
const UNASKED_PORTS = { first: 20_000, count: 10_000 };
/** Number of random tries. If all of them fail, the cause is not the ports. */
const MOST_TRIES = 1_000;

/**
 * A port at which nobody listens at the moment. No outgoing connection takes it before its service listens. Throws if
 * none was found.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const port = UNASKED_PORTS.first + Math.floor(Math.random() * UNASKED_PORTS.count);
    if (await isFree(port)) return port;
  }
  const { first, count } = UNASKED_PORTS;
  const last = first + count - 1;
  throw new Error(`None of ${MOST_TRIES} ports that were tried from ${first} to ${last} is free at ${LOOPBACK}.`);
}

/** Ports that this process has claimed. */
const claimed = new Set<number>();

/**
 * Claims a port for this process, so that two parallel `whet up` choose different ports. Minutes may pass between the
 * choice and the first `listen`, because a model may have to be made. A claim ends with its process; by then a service
 * listens at the port, or none needs it. Returns false if another process has claimed it.
 */
export async function claimPort(port: number): Promise<boolean> {
  if (claimed.has(port)) return true;
  if ((await tryLock(`\0whet-port-${port}`)) === null) return false;
  claimed.add(port);
  return true;
}

/**
 * The process that listens at a port, for a message: `process 4211 (temporal server start-dev ...)`; null if that is
 * not visible.
 */
export function whoListens(port: number): string | null {
  const inode = listeningInode(port);
  const pid = inode === null ? null : holderOfSocket(inode);
  if (pid === null) return null;
  try {
    const command = startOf(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim(), 80);
    return `process ${pid} (${command})`;
  } catch {
    // It just ended.
    return null;
  }
}

/** Inode of the socket that listens at a port (state 0A in /proc/net/tcp); null if there is none. */
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
