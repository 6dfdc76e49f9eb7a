// tier: integration
import { createHash } from 'node:crypto';
import { GatewayFixture, versionOf } from '../gateway-fixture';
import { CHAT, chatBody, expectUnharmed, request, sendBytes, statuses } from './send-bytes';

const registry = { versions: [versionOf(1, 'weigh')] };
const MESSAGES = '"messages":[{"role":"user","content":"shown"}]';

describe('a gateway without keys', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry, secondAgent: 'till' }));
  afterAll(() => fixture.stop());

  /** Sends a request and gives its status; what reached a model server is counted by `reached`. */
  const status = async (bytes: string): Promise<number> => {
    const said = await sendBytes(fixture.url, bytes);
    await expectUnharmed(fixture, said);
    expect(statuses(said)).toHaveLength(1);
    return statuses(said)[0]!;
  };
  const reached = (): string[] =>
    fixture.replicas[0]!.requests.map(({ text }) => text).filter((text) => !text.includes('an honest client'));
  beforeEach(() => void (fixture.replicas[0]!.requests.length = 0));

  test.each([
    'POST /v1/load_lora_adapter',
    'POST /v1/unload_lora_adapter',
    'POST /v1/../v1/load_lora_adapter',
    'POST /v1/chat/completions/../../load_lora_adapter',
    'POST /v1/%6coad_lora_adapter',
    'POST //v1/chat/completions',
    'POST /V1/CHAT/COMPLETIONS',
    'POST /tokenize',
    'POST /v1/embeddings/x',
    'POST /pooling',
    'POST /shutdown',
    'GET /v1/models/..%2f..%2fetc%2fpasswd',
    'GET /v1/models/%00',
    'GET /v1/models/%e0%a4%a',
    'GET /__proto__',
    'GET /constructor',
    'GET /v1/__proto__/models',
    'GET /healthz%0d%0aset-cookie:%20x',
    'DELETE /v1/models/weigh@111111111111',
    'PUT /v1/chat/completions',
  ])('routes: %s is none, and reaches no model server', async (line) => {
    const history = [...fixture.replicas[0]!.history];
    expect([400, 404, 405]).toContain(await status(request(line, chatBody('shown'))));
    expect(reached()).toEqual([]);
    expect(fixture.replicas[0]!.history).toEqual(history);
  });

  test.each([
    ['a prototype', '__proto__'],
    ['a constructor', 'constructor'],
    ['a prototype of the agent', 'desk@__proto__'],
    ['the agent with nothing behind it', 'desk@'],
    ['no agent', '@base'],
    ['base twice', 'desk@base@base'],
    ['the name at the server', 'desk-base'],
    ['a path behind an adapter', 'weigh@111111111111/../x'],
    ['a NUL', 'desk\\u0000'],
    ['wide letters', '\uff44\uff45\uff53\uff4b'],
    ['a letter of no width', 'de\u200bsk'],
    ['capitals', 'DESK'],
    ['a space behind', 'desk '],
    ['nothing', ''],
    ['a line feed and a header', 'desk\\r\\nx-y: z'],
    ['100,000 letters', 'd'.repeat(100_000)],
    ['half a character', '\\ud800'],
    ['terminal escapes', '\\u001b]52;c;AAAA\\u0007'],
  ])('model names: %s is unknown, and reaches no model server', async (_name, model) => {
    expect([400, 404]).toContain(await status(request(CHAT, `{"model":"${model}",${MESSAGES}}`)));
    expect(reached()).toEqual([]);
  });

  test.each([
    ['a mark of byte order', `\ufeff${chatBody('shown')}`, 400],
    ['a document behind the document', `${chatBody('shown')}{}`, 400],
    ['NaN', chatBody('shown', ',"temperature":NaN'), 400],
    ['a comment', `${chatBody('shown')}// x`, 400],
    ['single quotes', "{'model':'desk'}", 400],
    ['a leading zero', chatBody('shown', ',"n":01'), 400],
    ['a control character in a text', chatBody('sho\u0001wn'), 400],
    ['UTF-16', Buffer.from(chatBody('shown'), 'utf16le').toString('latin1'), 400],
    ['nothing at all', '', 400],
    ['a model of a model', '{"model":{"model":"desk"}}', 400],
    ['messages as an object', '{"model":"desk","messages":{"0":{"role":"user","content":"x"}}}', 400],
    ['a message that is null', '{"model":"desk","messages":[null]}', 400],
  ])('JSON: %s is a 400', async (_name, body, expected) => {
    expect(await status(request(CHAT, body))).toBe(expected);
    expect(reached()).toEqual([]);
  });

  test.each([
    ['a tiny temperature', '"temperature":1e-300'],
    ['a huge temperature', '"temperature":1e400'],
    ['a zero with a sign', '"temperature":-0.0'],
    ['a seed of 64 bits', '"seed":18446744073709551615'],
    ['a long fraction', '"top_p":0.1000000000000000055511151231257827'],
    ['a prototype', '"__proto__":{"model":"evil","polluted":true}'],
    ['a constructor', '"constructor":{"prototype":{"polluted":true}}'],
    ['half a character', '"user":"\\ud800"'],
    ['the key in escapes', '"\\u0075ser":"x"'],
  ])('numbers and keys: %s reaches the server as it was written, and touches nothing here', async (_name, member) => {
    expect(await status(request(CHAT, chatBody('shown', `,${member}`)))).toBe(200);
    expect(reached()).toHaveLength(1);
    expect(reached()[0]).toContain(member);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test.each([
    ['messages, twice', `{"model":"desk@base",${MESSAGES},"messages":[{"role":"user","content":"second"}]}`],
    ['a stream, twice', chatBody('shown', ',"stream":true,"\\u0073tream":false')],
    ['a model behind its messages', `{${MESSAGES},"model":"till@base","model":"desk@base"}`],
  ])('duplicated keys: %s: gateway and server read the same', async (_name, body) => {
    const answer = await fixture.post('/v1/chat/completions', body);
    const [text] = reached();
    const seen = JSON.parse(text!) as Record<string, unknown>;
    const sent = JSON.parse(body) as Record<string, unknown>;
    expect({ ...seen, model: null }).toEqual({ ...sent, model: null });
    expect(answer.headers.get('content-type')).toContain(sent['stream'] === true ? 'event-stream' : 'json');
    await expectUnharmed(fixture, '');
  });

  test.each([
    'text/json',
    'application/jsonp',
    'application/json-patch+json',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'text/plain;application/json',
    'application/xml, application/json',
    'application/',
    '*/*',
    '"application/json"',
  ])('content types: %s is a 415', async (type) => {
    expect(await status(request(CHAT, chatBody('shown'), { 'content-type': type }))).toBe(415);
    expect(reached()).toEqual([]);
  });

  test.each(['gzip', 'br', 'deflate, gzip', 'x'])('content codings: %s is a 415', async (coding) => {
    expect(await status(request(CHAT, chatBody('shown'), { 'content-encoding': coding }))).toBe(415);
    expect(reached()).toEqual([]);
  });

  test.each([
    ['a name that begins like this machine', { origin: 'http://localhost.evil.example' }],
    ['an address that begins like this machine', { origin: 'http://127.0.0.1.evil.example' }],
    ['this machine as user name', { origin: 'http://localhost@evil.example' }],
    ['this machine as path', { origin: 'http://evil.example/localhost' }],
    ['this machine as fragment', { origin: 'http://evil.example#localhost' }],
    ['two sites', { origin: 'http://localhost, http://evil.example' }],
    ['a file', { origin: 'file://' }],
    ['an extension', { origin: 'chrome-extension://localhost' }],
    ['an address in brackets', { origin: 'http://[::1].evil.example' }],
    ['words', { origin: 'localhost' }],
    ['a host that begins like this machine', { host: 'localhost.evil.example' }],
    ['a host that ends like this machine', { host: 'evil-localhost' }],
    ['a host with a user name', { host: 'localhost@evil.example' }],
    ['a host with a path', { host: 'evil.example/localhost' }],
    ['a host that resolves to this machine', { host: '127.0.0.1.nip.io' }],
    ['a host with a port that is none', { host: 'evil.example:localhost' }],
    ['the unspecified address', { host: '0.0.0.0:8400', origin: 'http://evil.example' }],
  ] as [string, Record<string, string>][])('other sites: %s is refused', async (_name, headers) => {
    expect([400, 403]).toContain(await status(request(CHAT, chatBody('shown'), headers)));
    expect([400, 403]).toContain(
      await status(request('POST /v1/outcomes', '{"conversation":"c","reward":1}', headers)),
    );
    expect(reached()).toEqual([]);
  });

  test.each([
    ['NaN', '{"conversation":"c","reward":NaN}'],
    ['more than any number', '{"conversation":"c","reward":1e400}'],
    ['a little more than 1', '{"conversation":"c","reward":1.0000001}'],
    ['a little less than 0', '{"conversation":"c","reward":-1e-9}'],
    ['text', '{"conversation":"c","reward":"1"}'],
    ['a truth value', '{"conversation":"c","reward":true}'],
    ['nothing', '{"conversation":"c","reward":null}'],
    ['no conversation', '{"reward":1}'],
    ['an empty conversation', '{"conversation":"","reward":1}'],
    ['a conversation of 201 letters', `{"conversation":"${'c'.repeat(201)}","reward":1}`],
    ['a list of conversations', '{"conversation":["c"],"reward":1}'],
    ['an agent that is a path', '{"conversation":"c","reward":1,"agent":"../../x"}'],
    ['an agent that is a prototype', '{"conversation":"c","reward":1,"agent":"__proto__"}'],
    ['an unknown key', '{"conversation":"c","reward":1,"version":2}'],
    ['a list', '[{"conversation":"c","reward":1}]'],
    ['a list of many', `[${'{"conversation":"c","reward":1},'.repeat(90)}1]`],
  ])('outcomes: %s is a 400', async (_name, body) => {
    expect(await status(request('POST /v1/outcomes', body))).toBe(400);
  });

  test('outcomes: a body without fields is refused as the body', async () => {
    const answer = await fixture.post('/v1/outcomes', []);
    expect(answer.json).toMatchObject({
      error: {
        message: 'The request body is a list, not fields with values. Allowed: fields with values.',
        param: null,
      },
    });
  });

  test.each(['constructor', 'to-string', 'nobody'])('outcomes: agent %s has no conversations', async (agent) => {
    const answer = await fixture.post('/v1/outcomes', { conversation: 'c', reward: 1, agent });
    expect(answer.status === 200 ? answer.json['counted'] : false).toBe(false);
    await expectUnharmed(fixture, answer.text);
  });

  test.each([
    ['letters of another alphabet', 'x-whet-conversation: \xff\xfe\xc3\xa9'],
    ['5,000 letters', `x-whet-conversation: ${'c'.repeat(5_000)}`],
    ['a path', 'x-whet-conversation: ../../../../etc/passwd'],
    ['a prototype', 'x-whet-conversation: __proto__'],
    ['a tab', 'x-whet-conversation: a\tb'],
    ['two of them', 'x-whet-conversation: a\r\nx-whet-conversation: b'],
    ['nothing', 'x-whet-conversation: '],
  ])('conversation ids: %s is answered or refused, and one header comes back', async (_name, line) => {
    const bytes = Buffer.from(request(CHAT, chatBody('shown'), {}, [line]), 'latin1');
    const said = await sendBytes(fixture.url, bytes);
    expect([200, 400]).toContain(statuses(said)[0]);
    expect(said.match(/^x-whet-conversation:/gim) ?? []).toHaveLength(statuses(said)[0] === 200 ? 1 : 0);
    await expectUnharmed(fixture, said.replaceAll('\t', ' ').replace(/[\x80-\xff]/g, ''));
  });
});

describe('a gateway with keys', () => {
  const fixture = new GatewayFixture();
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  beforeAll(() =>
    fixture.start({
      registry,
      secondAgent: 'till',
      config: {
        keys: [
          { client: 'owner', sha256: sha256('k-owner'), agents: ['desk'] },
          { client: 'other', sha256: sha256('k-other'), agents: ['till'] },
        ],
      },
    }),
  );
  afterAll(() => fixture.stop());

  test.each([
    ['the hash of the key', [`authorization: Bearer ${sha256('k-owner')}`]],
    ['an empty key', ['authorization: Bearer ']],
    ['the scheme alone', ['authorization: Bearer']],
    ['a key with more behind it', ['authorization: Bearer k-owner, Bearer x']],
    ['a key in capitals', ['authorization: Bearer K-OWNER']],
    ['another scheme', [`authorization: Basic ${Buffer.from('k-owner:').toString('base64')}`]],
    ['two headers', ['authorization: Bearer wrong', 'authorization: Bearer k-owner']],
    ['a cookie', ['cookie: authorization=Bearer k-owner']],
    ['the name of a client', ['authorization: Bearer owner']],
    ['a key of 10,000 letters', [`authorization: Bearer ${'k'.repeat(10_000)}`]],
    ['a prototype', ['authorization: Bearer __proto__']],
  ])('keys: %s is a 401', async (_name, lines) => {
    const said = await sendBytes(fixture.url, request(CHAT, chatBody('shown'), {}, lines));
    expect([[401], [400]]).toContainEqual(statuses(said));
    expect(said).not.toMatch(/k-owner|desk-base/);
    expect(fixture.replicas[0]!.completions()).toEqual([]);
    expect(fixture.errors).toEqual([]);
  });

  test.each([
    ['by its name', {}],
    ['with the agent', { agent: 'desk' }],
    ['with an agent of its own', { agent: 'till' }],
  ])(
    'outcomes of others: a client cannot rate the conversation of an agent that it may not use, %s',
    async (_name, more) => {
      const conversation = `c-${JSON.stringify(more).length}`;
      const chat = await fixture.chat(
        'hello',
        { model: 'desk@base' },
        { authorization: 'Bearer k-owner', 'x-whet-conversation': conversation },
      );
      expect(chat.status).toBe(200);
      const headers = { authorization: 'Bearer k-other' };
      const answer = await fixture.post('/v1/outcomes', { conversation, reward: 0, ...more }, headers);
      expect(answer.status === 200 ? answer.json['counted'] : false).toBe(false);
      expect(answer.text).not.toContain('"desk"');
    },
  );

  test.each([
    '/metrics',
    '/v1/models',
    '/v1/outcomes',
    '/admin',
    '/debug/pprof',
    '/readyz/..',
    '/openapi.json/../metrics',
  ])('routes without a key: %s tells nothing of agents, clients and servers', async (path) => {
    const said = await sendBytes(fixture.url, request(`GET ${path}`, ''));
    expect([401, 404, 405]).toContain(statuses(said)[0]);
    expect(said).not.toMatch(/desk|till|owner|other|weigh@|http:\/\/127/);
  });
});
