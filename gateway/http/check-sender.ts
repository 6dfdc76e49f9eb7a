import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { ApiError } from './errors';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Throws ApiError 415 unless a body is JSON. A browser sends JSON to another site only with that site's consent. */
export function checkContentType({ headers }: IncomingMessage): void {
  const type = headers['content-type'] ?? '';
  if (!/^application\/json[ \t]*(;|$)/i.test(type))
    throw new ApiError(415, 'Send JSON, with the header Content-Type: application/json.', {
      code: 'unsupported_media_type',
    });
}

/**
 * Refuses what a web page of another site sends through its reader's browser to a gateway that listens on this machine
 * only and asks for no key. Throws ApiError 403. Two ways: a page calls it by its address, and the header Origin names
 * the page's site; or the attacker lets a name of his own point to 127.0.0.1, and the header Host has that name.
 * `names` are further names under which the gateway is reached.
 */
export function checkSender({ headers }: IncomingMessage, names: readonly string[]): void {
  const host = nameOf(`http://${headers.host ?? ''}`);
  if (host !== null && !isLocal(host) && isIP(host) === 0 && !names.includes(host))
    throw new ApiError(403, `This gateway does not answer under the name ${host.slice(0, 100)}: see allowedHosts.`, {
      code: 'foreign_host',
    });
  const { origin } = headers;
  if (origin === undefined) return;
  const site = nameOf(origin);
  if (site === null || !(isLocal(site) || site === host || names.includes(site)))
    throw new ApiError(403, `Pages of ${origin.slice(0, 100)} may not use this gateway: see allowedHosts.`, {
      code: 'foreign_origin',
    });
}

function nameOf(url: string): string | null {
  try {
    return new URL(url).hostname.toLowerCase().replace(/^\[|\]$/g, '') || null;
  } catch {
    return null;
  }
}

function isLocal(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return host === 'localhost' || host.endsWith('.localhost');
  return loopback.check(host, version === 4 ? 'ipv4' : 'ipv6');
}
