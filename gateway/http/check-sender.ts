import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { ApiError } from './errors';
import { startOf } from '../../contracts/clean-text';

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

/** The header Authorization of a request. Clients of Anthropic's API send their key in another header. */
export function sentKey({ headers }: IncomingMessage): string | undefined {
  const { authorization, 'x-api-key': key } = headers;
  return authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined);
}

/** Throws ApiError 400 for a request of HTTP/1.1 without a header Host (RFC 9112, section 3.2). */
export function checkHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw new ApiError(400, 'Send a header Host.');
}

/**
 * For a gateway that only listens on this machine and requires no key. Throws ApiError 403 for a request that a web
 * page of another site sends through the user's browser. A page may call the gateway by its address; then the header
 * Origin names the page's site. Or an attacker points his own domain name to 127.0.0.1; then the header Host has that
 * name. `names` has further host names of the gateway.
 */
export function checkSender({ headers, rawHeaders }: IncomingMessage, names: readonly string[]): void {
  // If a request has two Host headers, a proxy may have checked the other one.
  if (
    rawHeaders.filter((word, index) => index % 2 === 0 && word.length === 4 && word.toLowerCase() === 'host').length > 1
  )
    throw new ApiError(400, 'Send one header Host.');
  const host = headers.host === undefined ? null : readHost(headers.host);
  const isOurs = host?.name != null && (host.isOpen || names.includes(host.name));
  if (headers.host !== undefined && !isOurs)
    throw new ApiError(403, `This gateway does not answer under the name ${shown(headers.host)}: see allowedHosts.`, {
      code: 'foreign_host',
    });
  const { origin } = headers;
  if (origin === undefined) return;
  const site = /^https?:/i.test(origin) ? nameOf(origin) : null;
  if (site === null || !(isLocal(site) || site === host?.name || names.includes(site)))
    throw new ApiError(403, `Pages of ${shown(origin)} may not use this gateway: see allowedHosts.`, {
      code: 'foreign_origin',
    });
}

/** A parsed Host header. */
interface ReadHost {
  /** Null if it is invalid. */
  name: string | null;
  /** Whether it is this machine or an IP address. No attacker can redirect those. */
  isOpen: boolean;
}

/**
 * Number of parsed hosts in the cache. Nearly all requests name one of a few hosts, and parsing a host takes as long as
 * parsing a small body.
 */
const MOST_READ_HOSTS = 64;
const readHosts = new Map<string, ReadHost>();

function readHost(header: string): ReadHost {
  const known = readHosts.get(header);
  if (known !== undefined) return known;
  const name = nameOf(`http://${header}`);
  const host = { name, isOpen: name !== null && (isLocal(name) || isIP(name) !== 0) };
  if (readHosts.size >= MOST_READ_HOSTS) readHosts.clear();
  readHosts.set(header, host);
  return host;
}

const shown = (text: string): string => startOf(text, 100);

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
