// Tier: integration.
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type CaptureAddress, CaptureServer } from '../../../../activities/rollout/capture/capture-server';
import { EpisodeCapture } from '../../../../activities/rollout/capture/episode-capture';

const PLAN = { seed: 3, split: 'train' as const, trial: 0, model: 'base', samplingSeed: 700 };
const SETTINGS = { temperature: 0.5, maxTurns: 4, maxCompletionTokens: 64, successReward: 1 };
const ASKED = JSON.stringify({ model: 'desk', messages: [{ role: 'user', content: 'Hello' }] });

let server: CaptureServer;
let asked: number;
let address: CaptureAddress;
const sockets: Socket[] = [];
beforeEach(async () => {
  server = new CaptureServer();
  asked = 0;
  const chat = async () => {
    asked++;
    return {
      ...{ content: 'Hello.', reasoning: null, cut: false, toolCalls: [], promptTokens: 1, completionTokens: 1 },
      ...{ firstToken: [], fingerprint: null },
    };
  };
  address = await server.open(new EpisodeCapture({ plan: PLAN, settings: SETTINGS, chat, model: 'desk' }));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

function open(): Socket {
  const socket = connect(Number(new URL(address.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** The head of a request. */
const head = (headers: Record<string, string>, key = address.key): string =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    ...Object.entries({
      host: 'x',
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

/** What the server says until it ends the connection. */
function saidUntilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString()));
  return new Promise((resolve) => socket.once('close', () => resolve(text)));
}

async function isWellForOthers(): Promise<boolean> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${address.key}` };
  const response = await fetch(`${address.url}/v1/chat/completions`, { method: 'POST', headers, body: ASKED });
  return response.status === 200;
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Writes until the other side ends the connection. */
async function writeForever(socket: Socket, text: string): Promise<void> {
  while (!socket.destroyed && socket.writable) {
    if (!socket.write(text)) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each<[what: string, key: 'own' | 'none', headers: Record<string, string>]>([
  ['in chunks', 'own', { 'transfer-encoding': 'chunked' }],
  ['in chunks', 'none', { 'transfer-encoding': 'chunked' }],
  ['of a length that nobody takes', 'own', { 'content-length': '999999999999' }],
  ['of such a length', 'none', { 'content-length': '999999999999' }],
])('a body without end, %s, with %s key, is not read to its end', async (_, key, headers) => {
  const socket = open();
  const said = saidUntilClosed(socket);
  socket.write(head(headers, key === 'own' ? address.key : 'another'));
  await writeForever(socket, chunk(' '.repeat(65_536)));
  expect(await said).not.toContain('HTTP/1.1 200');
  expect(asked).toBe(0);
  expect(await isWellForOthers()).toBe(true);
});

test.each<[what: string, request: () => string | Buffer]>([
  ['says that it is longer than it is', () => head({ 'content-length': String(ASKED.length + 5) }) + ASKED],
  ['says that it is shorter than it is', () => head({ 'content-length': String(ASKED.length - 5) }) + ASKED],
  [
    'has a length and chunks',
    () => head({ 'content-length': '5', 'transfer-encoding': 'chunked' }) + chunk(ASKED) + chunk(''),
  ],
  ['has two lengths', () => head({ 'content-length': '5' }).replace('host', 'content-length: 50\r\nhost') + ASKED],
  ['has a chunk of no size', () => `${head({ 'transfer-encoding': 'chunked' })}zz\r\n${ASKED}\r\n`],
  [
    'is compressed',
    () => {
      const body = gzipSync(ASKED);
      return Buffer.concat([
        Buffer.from(head({ 'content-length': String(body.length), 'content-encoding': 'gzip', connection: 'close' })),
        body,
      ]);
    },
  ],
])('a request that %s is not asked', async (_, request) => {
  const socket = open();
  const said = saidUntilClosed(socket);
  socket.end(request());
  expect(await said).not.toContain('HTTP/1.1 200');
  expect(asked).toBe(0);
  expect(await isWellForOthers()).toBe(true);
});

test('half a request holds up nobody, and ends with the endpoint', async () => {
  const halves = ['', 'POST', head({ 'content-length': '50' }), head({ 'content-length': '50' }) + ASKED.slice(0, 9)];
  const said = halves.map((text) => {
    const socket = open();
    if (text !== '') socket.write(text);
    return saidUntilClosed(socket);
  });
  expect(await isWellForOthers()).toBe(true);
  await server.close();
  await Promise.all(said);
  expect(asked).toBe(1);
});

test('no more connections are kept than 4,096, and there is room again when they are gone', async () => {
  let ended = 0;
  // Not all at a time: the kernel lets only some wait to be accepted.
  while (sockets.length < 4_200) {
    const some = Array.from({ length: 100 }, open);
    for (const socket of some) socket.once('close', () => ended++);
    await Promise.all(some.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
  }
  while (ended < 4_200 - 4_096) await new Promise((resolve) => setImmediate(resolve));
  for (const socket of sockets) socket.destroy();
  while (!(await isWellForOthers().catch(() => false))) await new Promise((resolve) => setImmediate(resolve));
});
