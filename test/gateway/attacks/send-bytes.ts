import { connect } from 'node:net';
import type { GatewayFixture } from '../gateway-fixture';

/**
 * Sends bytes and resolves with all that came back once the server has ended the connection.
 * @param isWhole false: the sending side ends behind the bytes, as when a client dies in the middle of a request.
 */
export function sendBytes(url: string, bytes: string | Buffer, isWhole = true): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true }, () => {
      if (isWhole) socket.write(bytes);
      else socket.end(bytes);
    });
    let text = '';
    socket.on('data', (data) => (text += data.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve(text));
  });
}

/** Status codes of the answers in what a connection gave. */
export const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** A chat request whose model server says the word `content`; it never runs a router. */
export const chatBody = (content: string, more = ''): string =>
  `{"model":"desk@base","messages":[{"role":"user","content":"${content}"}]${more}}`;

/** Bytes of a request. Headers replace or add to those of a good one; an empty value leaves one out. */
export function request(
  line: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  raw: readonly string[] = [],
): string {
  const all: Record<string, string> = {
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...headers,
  };
  const lines = Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}`);
  return `${[`${line} HTTP/1.1`, ...lines, ...raw].join('\r\n')}\r\n\r\n${body}`;
}

export const CHAT = 'POST /v1/chat/completions';

/** What holds after every attack: another client is answered, no server was given up, nothing failed unexpectedly. */
export async function expectUnharmed(fixture: GatewayFixture, said: string): Promise<void> {
  expect(said).not.toMatch(/\n {4}at |node:internal|\.(ts|js):\d+|TypeError|RangeError|SyntaxError/);
  expect(said).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/);
  expect(fixture.errors).toEqual([]);
  const answer = await fixture.chat('an honest client', { model: 'desk@base' });
  expect([answer.status, answer.json['model']]).toEqual([200, 'desk-base']);
  expect(fixture.agent.replicas.all.map(({ ready }) => ready)).toEqual(fixture.replicas.map(() => true));
}
