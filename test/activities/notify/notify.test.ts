// integration: notices over HTTP, to a real server on this machine.
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHmac } from 'node:crypto';
import { postNotice, signatureOf } from '../../../activities/notify/post-notice';
import { slackBody } from '../../../activities/notify/slack-message';
import { webhookTarget } from '../../../activities/endpoints/webhook-target';
import type { NoticeInput } from '../../../contracts/messages/run';

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

const received: Received[] = [];
let answer: (response: ServerResponse) => void = (response) => response.end('ok');
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/hook`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  received.length = 0;
  answer = (response) => response.end('ok');
});

const input: NoticeInput = {
  id: 'run-1/notice/1',
  runId: 'run-1',
  agent: 'desk',
  spec: null,
  specPath: '/agent.yaml',
  notice: {
    kind: 'waits',
    key: 'promote',
    who: 'approval',
    outcome: null,
    reasons: ['The gate is passed <!channel> & more'],
    promotedVersion: null,
    atMs: Date.UTC(2026, 2, 1, 2),
  },
};

test('a notice is what Slack takes, with the same as data, and is signed as Slack signs', async () => {
  const body = slackBody(input);
  await postNotice({ url, secret: 'a secret' }, input.id, body);
  const [{ headers, body: got } = {} as Received] = received;
  expect(got).toBe(body);
  const timestamp = String(headers['x-whetstone-request-timestamp']);
  const hex = createHmac('sha256', 'a secret').update(`v0:${timestamp}:${got}`).digest('hex');
  expect(headers['x-whetstone-signature']).toBe(`v0=${hex}`);
  expect(headers).toMatchObject({
    'idempotency-key': 'run-1/notice/1',
    'content-type': 'application/json; charset=utf-8',
  });
  const { text, blocks, whetstone } = JSON.parse(got) as Record<'text' | 'blocks' | 'whetstone', unknown>;
  expect(text).toContain('desk: run run-1 waits for an approval');
  expect(blocks).toHaveLength(3);
  expect(whetstone).toMatchObject({
    id: input.id,
    agent: 'desk',
    kind: 'waits',
    who: 'approval',
    at: '2026-03-01T02:00:00.000Z',
  });
});

test('words of a model mention nobody and link nowhere', () => {
  const { text, blocks } = JSON.parse(slackBody(input)) as { text: string; blocks: unknown[] };
  expect(text).toContain('&lt;!channel&gt; &amp; more');
  expect(JSON.stringify(blocks)).not.toContain('<!channel>');
});

test('the scheme is that of Slack: its documented example', () => {
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  expect(signatureOf('8f742231b10e8888abcd99yyyzzz85a5', 1_531_420_618, body)).toBe(
    'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  );
});

test('an answer that may become another one is tried again, every other one is not', async () => {
  const post = () => postNotice({ url, secret: null }, input.id, '{}');
  for (const [status, type] of [
    [500, 'Notify.Unreachable'],
    [429, 'Notify.Unreachable'],
    [404, 'Notify.Refused'],
  ] as const) {
    answer = (response) => response.writeHead(status).end('no_service\n');
    await expect(post()).rejects.toMatchObject({ type, message: expect.stringContaining('no_service') as string });
  }
  expect(received[0]!.headers).not.toHaveProperty('x-whetstone-signature');
  await expect(postNotice({ url: 'http://127.0.0.1:1/hook', secret: null }, 'x', '{}')).rejects.toMatchObject({
    type: 'Notify.Unreachable',
    message: expect.not.stringContaining('/hook') as string,
  });
});

test('of an answer that breaks off in the middle of a character, the whole ones are quoted', async () => {
  answer = (response) => response.writeHead(404).end(Buffer.from('no 😀😀').subarray(0, -1));
  const message = expect.stringMatching(/: no 😀\.$/u) as string;
  await expect(postNotice({ url, secret: null }, input.id, '{}')).rejects.toMatchObject({ message });
});

test('a redirect is not followed, and an answer without end is not read to it', async () => {
  answer = (response) => response.writeHead(302, { location: `${url}/elsewhere` }).end();
  const post = () => postNotice({ url, secret: null }, input.id, '{}');
  await expect(post()).rejects.toMatchObject({ type: 'Notify.Refused' });
  expect(received).toHaveLength(1);
  answer = (response) => {
    const more = () => response.write('x'.repeat(65_536), () => !response.destroyed && setImmediate(more));
    more();
  };
  await post();
});

test('an agent.yaml may name only servers that the operator has named', () => {
  const settings = {
    url: 'https://hooks.slack.com/services/T/B/x',
    endpoints: ['https://hooks.example.org'],
    secret: () => 's',
  };
  const keyVariable = 'WHET_WEBHOOK_SECRET';
  expect(webhookTarget({ keyVariable }, settings)).toEqual({ url: settings.url, secret: 's' });
  expect(webhookTarget({ keyVariable }, { ...settings, url: null })).toBeNull();
  expect(webhookTarget({ keyVariable, webhook: 'https://hooks.example.org/a' }, settings)?.url).toBe(
    'https://hooks.example.org/a',
  );
  for (const webhook of [
    'http://169.254.169.254/latest/meta-data',
    'http://hooks.example.org/a',
    'https://hooks.example.org.evil.example/a',
    'https://hooks.example.org:8443/a',
    // The operator's own address is not for tenants to post under with another path.
    'https://hooks.slack.com/services/other',
  ])
    expect(() => webhookTarget({ keyVariable, webhook }, settings)).toThrow('WHET_WEBHOOK_ENDPOINTS');
});

test('what a changed base model costs is told with its sentence', () => {
  const reasons = ['The base model has changed: making the 2 adapters of version 1 again takes 1,400 rollouts.'];
  const body = slackBody({ ...input, notice: { ...input.notice, kind: 'costs', key: null, who: null, reasons } });
  const { text, whetstone } = JSON.parse(body) as { text: string; whetstone: { kind: string; reasons: string[] } };
  expect(text).toBe(`desk: run run-1 makes adapters again\n${reasons[0]}`);
  expect(whetstone).toMatchObject({ kind: 'costs', reasons });
});

test('no block is longer than Slack takes, or empty, however much of a reason is escaped', () => {
  interface Body {
    text: string;
    blocks: { text?: { text: string } }[];
  }
  const bodyOf = (reasons: string[]) =>
    JSON.parse(slackBody({ ...input, notice: { ...input.notice, kind: 'ended', key: null, reasons } })) as Body;
  for (const one of ['<', '&', '\u{1f600}', 'x<b>&amp;']) {
    const { text, blocks } = bodyOf([one.repeat(3_000)]);
    const texts = [text, ...blocks.flatMap((block) => block.text?.text ?? [])];
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(2_500);
    for (const written of texts) {
      expect(written).not.toMatch(/\p{Surrogate}/u);
      expect(written).not.toMatch(/&(?!amp;|lt;|gt;)/);
    }
  }
  expect(bodyOf([''])).toMatchObject({ blocks: [{ type: 'section' }, { type: 'context' }] });
});
