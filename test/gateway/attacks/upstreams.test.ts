// tier: integration
import { readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { chunkEvent, completion, send } from '../../fakes/replica';
import { type Answer, GatewayFixture, versionOf } from '../gateway-fixture';
import { expectUnharmed } from './send-bytes';

/** Writes bytes to the connection in place of a response. */
const bytes =
  (...pieces: string[]) =>
  (response: ServerResponse): void => {
    const { socket } = response;
    for (const piece of pieces) socket?.write(Buffer.from(piece, 'latin1'));
    socket?.end();
  };
const json =
  (text: string, headers: Record<string, string> = {}, status = 200) =>
  (response: ServerResponse) =>
    send(response, status, text, headers);
const events = (text: string | Buffer) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);

const GOOD = JSON.stringify(completion('desk-base', 'hello'));
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const deep = '['.repeat(200_000) + ']'.repeat(200_000);

/** What a model server does, and the statuses that the client may get for it. */
type Case = [name: string, behave: (response: ServerResponse) => void, allowed: number[]];

const ANSWERS: Case[] = [
  ['a length that is too small', bytes(`${HEAD}content-length: 2\r\n\r\n${GOOD}`), [502]],
  ['a length that is too large', bytes(`${HEAD}content-length: 99999\r\n\r\n${GOOD}`), [502]],
  ['two lengths', bytes(`${HEAD}content-length: 2\r\ncontent-length: 9\r\n\r\n${GOOD}`), [502]],
  [
    'a length and chunks',
    bytes(
      `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n${GOOD.length.toString(16)}\r\n${GOOD}\r\n0\r\n\r\n`,
    ),
    [200, 502],
  ],
  ['a chunk size that is none', bytes(`${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n${GOOD}\r\n`), [502]],
  ['no HTTP', bytes('SSH-2.0-OpenSSH_9.9\r\n'), [502]],
  ['a status of four digits', bytes(`HTTP/1.1 2000 OK\r\n\r\n${GOOD}`), [502]],
  ['a status of 0', bytes('HTTP/1.1 000 no\r\ncontent-length: 0\r\n\r\n'), [502]],
  ['a header of 200,000 bytes', bytes(`${HEAD}x-y: ${'z'.repeat(200_000)}\r\n\r\n${GOOD}`), [502]],
  ['a header with a bare line feed', bytes(`${HEAD}x-y: a\n b\r\nconnection: close\r\n\r\n${GOOD}`), [200, 502]],
  [
    'a hundred preliminary answers',
    bytes('HTTP/1.1 103 x\r\n\r\n'.repeat(100), `${HEAD}connection: close\r\n\r\n${GOOD}`),
    [200, 502],
  ],
  ['nothing with a 204', (response) => void response.writeHead(204).end(), [502]],
  [
    'a way to another server',
    (response) => void response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    [502],
  ],
  ['an empty document', json('{}'), [200, 502]],
  ['text in place of JSON', json('oops, /srv/secret.py'), [502]],
  ['NaN', json(GOOD.replace('"logprobs":null', '"logprobs":NaN')), [502]],
  ['a list', json('[]'), [200, 502]],
  ['the word null', json('null'), [200, 502]],
  ['brackets, 200,000 deep', json(`{"choices":${deep}}`), [200, 502]],
  ['a prototype', json('{"choices":[],"__proto__":{"polluted":true}}'), [200]],
  ['more than an answer may have', json(`{"choices":[],"x":"${'y'.repeat(300_000)}"}`), [502]],
  ['a packed answer that nobody asked for', json('\x1f\x8b\b\0', { 'content-encoding': 'gzip' }), [502]],
  ['events in place of JSON', events(`${chunkEvent('m', 'x')}data: [DONE]\n\n`), [502]],
  [
    'headers of our own, forged',
    json(GOOD, { 'x-whet-adapter': 'evil', 'x-whet-version': '99', 'x-whet-conversation': 'evil' }),
    [200],
  ],
  [
    'a cookie and a way to shut the client out',
    json(GOOD, { 'set-cookie': 'a=b', 'strict-transport-security': 'max-age=9' }),
    [200],
  ],
  [
    'an error whose text is a terminal escape',
    json('{"error":{"message":"\\u001b]52;c;AAAA\\u0007 /srv/x.py"}}', {}, 500),
    [502],
  ],
];

const STREAMS: Case[] = [
  [
    'a line without an end',
    (response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${'x'.repeat(3_000_000)}`),
    [200, 502],
  ],
  ['events that are no JSON', events('data: NaN\n\ndata: {"a":\n\ndata: [DONE]\n\n'), [200, 502]],
  ['bytes that are no UTF-8', events(Buffer.from('data: {"x":"\xff\xfe"}\n\ndata: [DONE]\n\n', 'latin1')), [200, 502]],
  ['events after the end', events(`${chunkEvent('m', 'x')}data: [DONE]\n\n${chunkEvent('m', 'late')}`), [200]],
  ['no end', events(chunkEvent('m', 'x')), [200]],
  ['other line ends', events(chunkEvent('m', 'x').replaceAll('\n', '\r\n') + 'data: [DONE]\r\n\r\n'), [200]],
  ['comments and unknown fields only', events(': x\n\nid: 1\nretry: 1\n\n'), [200, 502]],
  ['nothing', events(''), [200, 502]],
  ['a document in place of events', json(GOOD), [200, 502]],
  [
    'a page',
    (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<script>alert(1)</script>'),
    [502],
  ],
  ['an error as its first event', events('data: {"error":{"message":"Traceback /srv/x.py"}}\n\n'), [200, 502]],
];

const LOGPROBS: [name: string, entry: string][] = [
  ['that is no number', 'NaN'],
  ['that is not finite', '1e400'],
  ['that is not finite below', '-1e400'],
  ['above 0', '700'],
  ['as text', '"-0.1"'],
  ['as null', 'null'],
  ['as a list', '[0]'],
];

describe('a hostile model server', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({
      registry: { versions: [versionOf(1, 'weigh')] },
      config: { retries: 0, limits: { answerBytes: 200_000 }, timeouts: { replicaMs: 60_000 } },
    }),
  );
  afterAll(() => fixture.stop());
  const attack = async (behave: (response: ServerResponse) => void, more = {}): Promise<Answer> => {
    fixture.replicas[0]!.behaviour = ({ text }, response) => {
      if (text.includes('an honest client')) return false;
      behave(response);
      return true;
    };
    return fixture.chat('attack', { model: 'desk@base', ...more });
  };
  afterEach(() => (fixture.replicas[0]!.behaviour = null));

  test.each(ANSWERS)('answers with %s', async (_name, behave, allowed) => {
    const answer = await attack(behave);
    expect(allowed).toContain(answer.status);
    if (answer.status !== 200) expect(answer.json['error']).toMatchObject({ type: 'server_error' });
    expect(answer.text).not.toMatch(/\/srv\/|169\.254/);
    expect(answer.headers.get('x-whet-adapter')).not.toBe('evil');
    expect(answer.headers.get('x-whet-version')).not.toBe('99');
    expect(answer.headers.get('x-whet-conversation')).not.toBe('evil');
    expect([answer.headers.get('set-cookie'), answer.headers.get('strict-transport-security')]).toEqual([null, null]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    await expectUnharmed(fixture, answer.text);
  });

  test.each(STREAMS)('streams %s', async (_name, behave, allowed) => {
    const answer = await attack(behave, { stream: true });
    expect(allowed).toContain(answer.status);
    expect(answer.text).not.toMatch(/<script>/);
    // What the server wrote is its affair, but a client gets whole events only.
    if (answer.status === 200 && (answer.headers.get('content-type') ?? '').includes('event-stream'))
      expect(answer.text).toMatch(/^$|\n\r?\n$/);
    await expectUnharmed(fixture, answer.text);
  });

  test('streams without an end: the request there ends when the client goes away', async () => {
    const { aborted } = fixture.replicas[0]!;
    fixture.replicas[0]!.behaviour = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = setInterval(() => response.write(chunkEvent('m', 'x'.repeat(1000))), 1);
      response.on('close', () => clearInterval(more));
      return true;
    };
    const gone = new AbortController();
    const response = await fetch(`${fixture.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"desk@base","stream":true,"messages":[{"role":"user","content":"attack"}]}',
      signal: gone.signal,
    });
    await response.body!.getReader().read();
    gone.abort();
    await fixture.until(() => fixture.replicas[0]!.aborted > aborted);
    fixture.replicas[0]!.behaviour = null;
    await expectUnharmed(fixture, '');
  });

  test.each(LOGPROBS)(
    'the router is told a log-probability %s: the base model or an adapter answers',
    async (_name, logprob) => {
      fixture.replicas[0]!.behaviour = ({ body }, response) => {
        if (body.structured_outputs === undefined) return false;
        const entry = `"token":"A","logprob":${logprob}`;
        const choice = `{"index":0,"message":{"content":"A"},"logprobs":{"content":[{${entry},"top_logprobs":[{${entry}}]}]}}`;
        json(`{"choices":[${choice}]}`)(response);
        return true;
      };
      const answer = await fixture.chat(`attack ${logprob}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-whet-route')).toMatch(/^[\x20-\x7e]+$/);
      fixture.replicas[0]!.behaviour = null;
      await expectUnharmed(fixture, answer.text);
      expect((await fixture.get('/metrics')).text).not.toMatch(/ (NaN|Nan)$/m);
    },
  );
});

describe('the key of the gateway, repeated by a model server', () => {
  const KEY = 'sk-the-gateways-own';
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry: { versions: [versionOf(1, 'weigh')] }, modelApiKey: KEY }));
  afterAll(() => fixture.stop());

  it.each<[string, (response: ServerResponse) => void, object]>([
    ['an error', json(JSON.stringify({ error: { message: `bad key ${KEY}`, code: KEY } }), {}, 401), {}],
    ['an answer', json(JSON.stringify(completion('desk-base', KEY))), {}],
    [
      'an event',
      events(`${chunkEvent('desk-base', 'ok')}data: {"error":{"message":"bad key ${KEY}"}}\n\ndata: [DONE]\n\n`),
      { stream: true },
    ],
  ])('does not reach a client in %s', async (_name, behave, more) => {
    fixture.replicas[0]!.behaviour = (_request, response) => {
      behave(response);
      return true;
    };
    const { text } = await fixture.chat('repeated', { model: 'desk@base', ...more });
    expect(text).not.toContain(KEY);
    expect(text).toContain('[key]');
  });
});

describe('kept traces', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry: { versions: [versionOf(1, 'weigh')] }, agent: { traces: { sample: 1 } } }));
  afterAll(() => fixture.stop());
  const files = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name));

  test.each([
    '../../../../escaped',
    '..',
    '.',
    '/etc/escaped',
    'a/../../../b',
    '%2e%2e%2fescaped',
    'CON',
    '-rf',
    'x'.repeat(200),
  ])('of the conversation %s lie in the folder of their agent and day', async (conversation) => {
    const kept = () => files(fixture.folder).filter((path) => path.includes('/traces/')).length;
    const before = kept();
    const chat = await fixture.chat('hello', { model: 'desk@base' }, { 'x-whet-conversation': conversation });
    expect([200, 400]).toContain(chat.status);
    if (chat.status === 200) {
      const outcome = await fixture.post('/v1/outcomes', { conversation, reward: 1 });
      expect(outcome.status).toBe(200);
      await fixture.until(() => kept() > before);
    }
    const traces = join(fixture.folder, 'store', 'traces', 'desk');
    for (const path of files(fixture.folder).filter((path) => path.includes('trace')))
      expect(path.slice(traces.length)).toMatch(/^\/\d{4}-\d\d-\d\d\/[\w.@-]+$/);
    expect(files(fixture.folder).filter((path) => path.includes('escaped'))).toEqual([]);
    expect(fixture.errors).toEqual([]);
  });
});
