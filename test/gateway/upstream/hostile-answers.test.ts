// tier: integration
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { createLog } from '../../../gateway/log';
import { readStream } from '../../../dialects';
import { readText } from '../../../gateway/upstream/replica';
import { saysUnknownModel } from '../../../gateway/upstream/response-checks';
import { completion, send } from '../../fakes/replica';
import { type Answer, GatewayFixture, versionOf } from '../gateway-fixture';

const event = (index: unknown) =>
  `data: ${JSON.stringify({
    choices: [{ index: 0, delta: { tool_calls: [{ index, id: 'a', function: { name: 'f', arguments: '{}' } }] } }],
  })}\n\n`;

describe('tool calls of a streamed answer', () => {
  it('are as many as there are, whatever their indexes', () => {
    const { message } = readStream(event(4_000_000_000) + event(2));
    expect(message.tool_calls).toHaveLength(2);
  });

  it.each(['__proto__', -1, 1.5, null])('have no index %j', (index) => {
    expect(() => readStream(event(index))).toThrow(RangeError);
    expect([]).not.toHaveProperty('id');
  });
});

test('a long message of a 404 is searched once', () => {
  const body = Buffer.from(JSON.stringify({ error: { message: 'model '.repeat(10_000) } }));
  // Searched from each 'model' on, this takes minutes.
  for (let i = 0; i < 100; i++) expect(saysUnknownModel(body)).toBe(false);
  const said = 'The model `a` does not exist.';
  expect(saysUnknownModel(Buffer.from(JSON.stringify({ error: { message: said } })))).toBe(true);
});

test('an answer to a question of the gateway itself has a limit, also in small chunks', async () => {
  const chunks = (size: number) => Readable.from(Array.from({ length: 100_000 / size }, () => Buffer.alloc(size, 'x')));
  const read = (size: number, most: number) => readText(chunks(size) as Parameters<typeof readText>[0], most);
  for (const size of [1, 1_000]) {
    await expect(read(size, 99_999)).rejects.toThrow('more than 99999 bytes');
    expect(await read(size, 100_000)).toBe('x'.repeat(100_000));
  }
});

test('lines of the log show what would act on a terminal', () => {
  const lines: string[] = [];
  createLog('info', { write: (line) => void lines.push(line) }).error({ error: 'a\u009b2J\u202eb\u001b[0m' }, 'failed');
  expect(lines.join('')).not.toMatch(/[\u001b\u009b\u202e]/);
  expect(JSON.parse(lines[0]!)).toMatchObject({ error: 'a\u009b2J\u202eb\u001b[0m' });
});

const KEY = 'sk-the-gateways-own';

/** A gateway with one model server, which answers as a test says. */
function withGateway(timeouts: { firstByteMs?: number }) {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({
      registry: { versions: [versionOf(1, 'weigh')] },
      config: { retries: 0, limits: { openBytes: 3_000_000 }, timeouts },
      modelApiKey: KEY,
    }),
  );
  afterAll(() => fixture.stop());
  afterEach(() => (fixture.replicas[0]!.behaviour = null));
  const ask = (behave: (response: ServerResponse) => void): Promise<Answer> => {
    fixture.replicas[0]!.behaviour = (_, response) => {
      behave(response);
      return true;
    };
    return fixture.chat('hi', { model: 'desk@base' });
  };
  return { fixture, ask };
}

const again = (response: ServerResponse, write: () => void) => {
  const more = setInterval(write, 20);
  response.on('close', () => clearInterval(more));
};

describe('a model server that does not answer in time', () => {
  // Its answers never end, so however busy the machine is, the limit comes first.
  const { ask } = withGateway({ firstByteMs: 300 });

  it.each<[string, (response: ServerResponse) => void]>([
    [
      'gives preliminary answers for ever',
      (response) => again(response, () => void response.socket?.write('HTTP/1.1 103 Early Hints\r\n\r\n')),
    ],
    [
      'gives its answer byte by byte',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        again(response, () => void response.write(' '));
      },
    ],
  ])('that %s has not answered in time', async (_name, behave) => {
    const answer = await ask(behave);
    expect([answer.status, answer.json['error']?.code]).toEqual([504, 'upstream_timeout']);
  });
});

describe('a model server', () => {
  const { fixture, ask } = withGateway({});

  it('does not get the key of the gateway to a client in a header, or in an error with escapes', async () => {
    const good = await ask((response) =>
      send(response, 200, completion('desk-base', 'hello'), { 'x-request-id': KEY, 'openai-version': `v ${KEY}` }),
    );
    expect([good.headers.get('x-request-id'), good.headers.get('openai-version')]).toEqual([null, null]);
    const escaped = [...KEY].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('');
    const bad = await ask((response) =>
      send(response, 400, `{"error":{"message":"bad ${escaped}","code":"${escaped}"}}`, { 'retry-after': KEY }),
    );
    expect(bad.status).toBe(400);
    expect(bad.text).not.toContain(KEY);
    expect(bad.headers.get('retry-after')).toBeNull();
  });

  it('is not asked where numbers of a body would take more memory than is left', async () => {
    const x = Array.from({ length: 60_000 }, () => 5e9);
    const answer = await fixture.chat('hi', { model: 'desk@base', x });
    expect([answer.status, answer.json['error']?.code]).toEqual([503, 'overloaded']);
  });

  it('is not sent a body that grows when it is written again', async () => {
    const numbers = Array.from({ length: 10_000 }, () => '9e20').join();
    const text = `{"model":"desk@base","model":"desk@base","messages":[{"role":"user","content":"x"}],"x":[${numbers}]}`;
    const response = await fetch(`${fixture.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: text,
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('Name it once');
  });
});
