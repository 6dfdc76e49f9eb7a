// tier: integration
import { once } from 'node:events';
import { connect } from 'node:net';
import { GatewayFixture, versionOf } from '../gateway-fixture';
import { CHAT, chatBody, expectUnharmed, request, sendBytes, statuses } from './send-bytes';

const BODY = chatBody('shown');
/** A second request in the place of a body's end: it must never be answered, and never reach a model server. */
const SMUGGLED = request(CHAT, chatBody('SMUGGLED'));
const chunk = (text: string, size = Buffer.byteLength(text).toString(16)): string => `${size}\r\n${text}\r\n`;
const CHUNKED = { 'transfer-encoding': 'chunked', 'content-length': '' };
const BOTH = { 'transfer-encoding': 'chunked' };

/** Kind, name, bytes, and the statuses that may come back, in order. */
type Case = [kind: string, name: string, bytes: string, allowed: number[][]];

const REFUSED = [[400], []];
const CASES: Case[] = [
  ['smuggling', 'a length and chunks', request(CHAT, `0\r\n\r\n${SMUGGLED}`, BOTH), REFUSED],
  [
    'smuggling',
    'chunks and a length that ends early',
    request(CHAT, chunk(BODY) + `0\r\n\r\n${SMUGGLED}`, { ...BOTH, 'content-length': '4' }),
    REFUSED,
  ],
  [
    'smuggling',
    'two lengths',
    request(CHAT, BODY + SMUGGLED, { 'content-length': '0' }, [`content-length: ${BODY.length}`]),
    REFUSED,
  ],
  ['smuggling', 'two lengths in one line', request(CHAT, BODY + SMUGGLED, { 'content-length': '0, 5' }), REFUSED],
  ['smuggling', 'a length with a sign', request(CHAT, SMUGGLED, { 'content-length': '+0' }), REFUSED],
  ['smuggling', 'a negative length', request(CHAT, SMUGGLED, { 'content-length': '-1' }), REFUSED],
  ['smuggling', 'a length in hex', request(CHAT, BODY + SMUGGLED, { 'content-length': '0x10' }), REFUSED],
  ['smuggling', 'a length of 30 digits', request(CHAT, SMUGGLED, { 'content-length': '9'.repeat(30) }), REFUSED],
  ['smuggling', 'a length with a space inside', request(CHAT, SMUGGLED, { 'content-length': '1 0' }), REFUSED],
  [
    'smuggling',
    'a coding that is none, hiding a length',
    request(CHAT, `0\r\n\r\n${SMUGGLED}`, { 'transfer-encoding': 'xchunked' }),
    REFUSED,
  ],
  [
    'smuggling',
    'a coding twice',
    request(CHAT, `0\r\n\r\n${SMUGGLED}`, { ...CHUNKED, 'transfer-encoding': 'chunked, identity' }),
    REFUSED,
  ],
  [
    'smuggling',
    'a coding with a space before its colon',
    request(CHAT, `0\r\n\r\n${SMUGGLED}`, { 'transfer-encoding ': 'chunked', 'content-length': '' }),
    REFUSED,
  ],
  [
    'smuggling',
    'a coding on a folded line',
    request(CHAT, `0\r\n\r\n${SMUGGLED}`, { 'content-length': '5' }, ['x-y: z', ' transfer-encoding: chunked']),
    REFUSED,
  ],
  [
    'smuggling',
    'a coding behind a bare carriage return',
    request(CHAT, `0\r\n\r\n${SMUGGLED}`, { 'content-length': '5' }, ['x-y: z\rtransfer-encoding: chunked']),
    REFUSED,
  ],
  [
    'smuggling',
    'a coding behind a bare line feed',
    request(CHAT, `0\r\n\r\n${SMUGGLED}`, { 'content-length': '5' }, ['x-y: z\ntransfer-encoding: chunked']),
    REFUSED,
  ],
  ['smuggling', 'a body with a GET', request('GET /healthz', SMUGGLED), [[200], [400]]],
  ['chunks', 'a size that is none', request(CHAT, `zz\r\n${BODY}\r\n0\r\n\r\n`, CHUNKED), REFUSED],
  ['chunks', 'a size beyond 64 bits', request(CHAT, `${'F'.repeat(17)}\r\n${BODY}\r\n0\r\n\r\n`, CHUNKED), REFUSED],
  ['chunks', 'a negative size', request(CHAT, `-5\r\n${BODY}\r\n0\r\n\r\n`, CHUNKED), REFUSED],
  [
    'chunks',
    'a size that is smaller than the chunk',
    request(CHAT, `${chunk(BODY, '3')}0\r\n\r\n${SMUGGLED}`, CHUNKED),
    REFUSED,
  ],
  ['chunks', 'lines that end with a line feed', request(CHAT, `${chunk(BODY)}0\n\n${SMUGGLED}`, CHUNKED), REFUSED],
  [
    'chunks',
    'an extension of 100,000 bytes',
    request(CHAT, `4;x="${'y'.repeat(100_000)}"\r\nabcd\r\n0\r\n\r\n`, CHUNKED),
    [[413], [431], ...REFUSED],
  ],
  [
    'chunks',
    'a length and a host in the trailer',
    request(CHAT, `${chunk(BODY)}0\r\ncontent-length: 5\r\nhost: evil.example\r\n\r\n`, CHUNKED),
    [[200], ...REFUSED],
  ],
  [
    'chunks',
    'one byte in each of 90 chunks',
    request(CHAT, `${[...BODY].map((byte) => chunk(byte)).join('')}0\r\n\r\n`, CHUNKED),
    [[200]],
  ],
  ['half requests', 'half a request line', 'POST /v1/chat/compl', REFUSED],
  ['half requests', 'half the headers', `${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-le`, REFUSED],
  ['half requests', 'half a body', request(CHAT, BODY.slice(0, 20), { 'content-length': '500' }), REFUSED],
  ['half requests', 'chunks without an end', request(CHAT, chunk(BODY), CHUNKED), REFUSED],
  ['half requests', 'half a chunk', request(CHAT, chunk(BODY, 'fff'), CHUNKED), REFUSED],
  [
    'pipelining',
    'fifty requests at once',
    request('GET /healthz', '', { connection: '' }).repeat(49) + request('GET /healthz', ''),
    [Array(50).fill(200)],
  ],
  [
    'pipelining',
    'a good request after one that is refused for its body',
    request(CHAT, '{"model"', { connection: '' }) + request('GET /healthz', ''),
    [[400, 200], [400]],
  ],
  [
    'pipelining',
    'a good request after one whose body is too large',
    request(CHAT, `"${'x'.repeat(70_000)}"`, { connection: '' }) + request('GET /healthz', ''),
    [[413], [413, 200]],
  ],
  ['headers', 'one of 40,000 bytes', request(CHAT, BODY, { 'x-y': 'z'.repeat(40_000) }), [[431]]],
  ['headers', 'four thousand of them', request(CHAT, BODY, {}, Array<string>(4_000).fill('x-y: z')), [[431]]],
  ['headers', 'a NUL in a value', request(CHAT, BODY, { 'x-y': 'a\0b' }), REFUSED],
  ['headers', 'a name with a space', request(CHAT, BODY, { 'x y': 'z' }), REFUSED],
  ['headers', 'no name', request(CHAT, BODY, {}, [': z']), REFUSED],
  ['headers', 'no host', request(CHAT, BODY, { host: '' }), [[400]]],
  ['headers', 'two hosts', request(CHAT, BODY, {}, ['host: evil.example']), [[400], [403]]],
  ['headers', 'an expectation that nobody has heard of', request(CHAT, BODY, { expect: 'miracles' }), [[417]]],
  [
    'headers',
    'an upgrade to another protocol',
    request(CHAT, BODY, { connection: 'upgrade, close', upgrade: 'h2c' }),
    [[200], [400], [426]],
  ],
  ['request lines', 'a version that does not exist', `${CHAT} HTTP/9.9\r\nhost: localhost\r\n\r\n`, [[400], [505], []]],
  ['request lines', 'the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [[400], [505], []]],
  ['request lines', 'a TLS greeting', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', REFUSED],
  ['request lines', 'a target of 60,000 bytes', request(`GET /${'a'.repeat(60_000)}`, ''), [[431], [414]]],
  ['request lines', 'a method in small letters', request('post /v1/chat/completions', BODY), [[400], [405]]],
  ['request lines', 'CONNECT', 'CONNECT 169.254.169.254:80 HTTP/1.1\r\nhost: localhost\r\n\r\n', [[405]]],
  [
    'request lines',
    'TRACE with a secret',
    request('TRACE /v1/models', '', { authorization: 'Bearer k' }),
    [[405], [404]],
  ],
  ['request lines', 'OPTIONS *', request('OPTIONS *', ''), [[404], [405], [400]]],
  [
    'request lines',
    'another host in the target',
    request('POST http://evil.example/v1/chat/completions', BODY),
    [[400], [403], [404]],
  ],
];

describe('bytes that are hardly a request', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({ registry: { versions: [versionOf(1, 'weigh')] }, config: { limits: { bodyBytes: 50_000 } } }),
  );
  afterAll(() => fixture.stop());

  test.each(CASES)('%s: %s', async (kind, _name, bytes, allowed) => {
    const said = await sendBytes(fixture.url, bytes, kind !== 'half requests');
    expect(allowed).toContainEqual(statuses(said));
    expect(said).not.toContain('Bearer');
    for (const answer of said.split(/(?=^HTTP\/1\.1 4)/m).filter((text) => text.startsWith('HTTP/1.1 4')))
      expect(answer).toMatch(/\r\n\r\n\{"error":\{"message":"[^"]/);
    await expectUnharmed(fixture, said);
    expect(fixture.replicas[0]!.requests.filter(({ text }) => text.includes('SMUGGLED'))).toEqual([]);
  });
});

test('a client of CONNECT that neither reads nor closes does not hold up the end of the gateway', async () => {
  const fixture = await new GatewayFixture().start({ registry: { versions: [versionOf(1, 'weigh')] } });
  const socket = connect({ port: Number(new URL(fixture.url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write('CONNECT 169.254.169.254:80 HTTP/1.1\r\nhost: localhost\r\n\r\nmore');
  await once(socket, 'readable');
  await fixture.stop();
  socket.destroy();
});
