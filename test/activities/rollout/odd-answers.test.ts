// Tier: integration (fake model server).
import { HttpModelClient, type ModelFault, PolicyModel } from '../../../activities/rollout';
import { FORMS } from '../../fakes/hostile-forms';
import { choice, type Form, type Plain, type Reply, sendReply } from '../../fakes/hostile-model-server';
import { FakePolicyServer } from '../../fakes/policy-server';

const PLAIN: Plain = { content: null, calls: [{ name: 'weigh', arguments: { parcel: 'P1' } }] };
const KINDS: Record<string, string> = { alone: 'conversation', 'too long': 'too-long' };

const failing = FORMS.flatMap(({ rollout, ...form }) =>
  Array.isArray(rollout) && (rollout[0] in KINDS || rollout[0] === 'waits') ? [{ ...form, rollout }] : [],
);

describe('what is told of a server that refuses', () => {
  const client = new HttpModelClient();
  let server: FakePolicyServer;
  /** A clock whose pauses take no time. */
  let now = 0;
  let onPause: (() => void) | null = null;
  const clock = { now: () => now, sleep: async (ms: number) => ((now += ms), onPause?.()) };

  beforeAll(async () => void (server = await new FakePolicyServer(() => ({ content: 'well' })).start()));
  afterEach(() => void (server.behaviour = server.modelList = onPause = null));
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  const open = (signal = new AbortController().signal) => {
    const served = { weightsSha256: null, root: null, maxModelLength: 2048 };
    const model = {
      baseUrl: server.baseUrl,
      addressFrom: 'worker' as const,
      name: 'base',
      path: '/m',
      sha256: '1',
      served,
    };
    return new PolicyModel({ client, clock, model, adapters: [], concurrency: 1, signal });
  };
  const chatWith = (policy: PolicyModel, content = 'please') => {
    const messages = [{ role: 'user' as const, content }];
    return policy.chat({ model: 'base', messages, temperature: 1, seed: 1, maxTokens: 8 });
  };
  const ask = (content?: string, signal?: AbortSignal) => chatWith(open(signal), content);
  const answerIn = (form: Pick<Form, 'reply'>) =>
    void (server.behaviour = (_, response) => (sendReply(response, form.reply(PLAIN)), true));

  test.each(failing)('$name ($source)', async ({ reply, rollout }) => {
    answerIn({ reply });
    const error = (await ask().catch((caught: unknown) => caught)) as Error & { type: string; cause: ModelFault };
    const [kind, ...told] = rollout;
    const words = told.at(-1) as RegExp;
    expect(error.message).toMatch(words);
    if (kind === 'waits') expect(error.type).toBe(told[0]);
    else expect(error.cause.kind).toBe(KINDS[kind]);
  });

  /** The server answers the usual conversation with this, and others well. */
  const failAt = (reply: Reply) =>
    void (server.behaviour = ({ messages }, response) =>
      messages[0]!.content === 'please' && (sendReply(response, reply), true));

  test.each<[string, Reply, RegExp]>([
    ['fails', { status: 500, body: 'KeyError' }, /answered 500: KeyError/],
    ['breaks off', choice({ finish_reason: 'error' })(PLAIN), /ended with the reason "error"/],
    ['sends a page', { body: '<html>' }, /no chat completion: It begins "<html>"/],
  ])('a server that %s at one conversation all the time, and answers others, is not down', async (_, reply, words) => {
    failAt(reply);
    const failed = ask();
    await expect(failed).rejects.toMatchObject({ cause: { kind: 'conversation' } });
    await expect(failed).rejects.toThrow(words);
    await expect(failed).rejects.toThrow(/all the time, and answers another one/);
    expect((await ask('others')).content).toBe('well');
  });

  test('an answer without an end is not read to the end', async () => {
    server.behaviour = ({ messages }, response) => {
      if (messages[0]!.content !== 'please') return false;
      const piece = Buffer.alloc(1 << 20, ' ');
      const more = (): void => {
        while (response.writable && response.write(piece));
        response.once('drain', more);
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      more();
      return true;
    };
    const failed = ask();
    await expect(failed).rejects.toMatchObject({ cause: { kind: 'conversation' } });
    await expect(failed).rejects.toThrow('sent an answer without an end.');
  });

  test('one that fails once and says when to come back shows nothing about the conversation', async () => {
    failAt({ status: 500, headers: { 'retry-after': '90' } });
    await expect(ask()).rejects.toMatchObject({ type: 'Model.Unreachable', nextRetryDelay: 90_000 });
  });

  test('who is cancelled while another conversation is asked for ends with the reason', async () => {
    const controller = new AbortController();
    server.behaviour = ({ messages }, response) => {
      if (messages[0]!.content === 'please') sendReply(response, { status: 500 });
      else controller.abort(new Error('stop it'));
      return true;
    };
    await expect(ask('please', controller.signal)).rejects.toThrow('stop it');
  });

  test('a page in place of every answer is waited for, except at an address that never gave a list', async () => {
    const page = '<html>One moment</html>';
    const policy = open();
    await chatWith(policy);
    answerIn({ reply: () => ({ body: page }) });
    server.modelList = page;
    let pauses = 0;
    onPause = () => {
      pauses++;
      if (pauses === 3) server.behaviour = null;
      if (pauses === 5) server.modelList = null;
    };
    expect((await chatWith(policy)).content).toBe('well');
    server.modelList = page;
    await expect(chatWith(open())).rejects.toMatchObject({
      type: 'Model.Refused',
      message: expect.stringContaining('model.baseUrl') as string,
    });
  });

  test('a key in a long error with status 200 is not told in part either', async () => {
    const own = new HttpModelClient({ apiKey: 'secret-key-1' });
    answerIn({ reply: () => ({ body: { error: { message: `${'x'.repeat(490)} secret-key-1`, code: 400 } } }) });
    const request = { model: 'base', messages: [], temperature: 1, seed: 1, maxTokens: 8 };
    const error = (await own.chat({ ...request, baseUrl: server.baseUrl }).catch((one: unknown) => one)) as Error;
    expect(error.message).toMatch(/x{100}/);
    expect(error.message).not.toContain('secret');
    await own.close();
  });

  test('one that fails at every conversation is', async () => {
    answerIn({ reply: () => ({ status: 500, body: 'CUDA error' }) });
    await expect(ask()).rejects.toMatchObject({ type: 'Model.Unreachable', nonRetryable: false });
  });

  test.each([
    ['an hour at most', { 'retry-after': '31536000' }, 3_600_000],
    ['an hour at most, by a date', { 'retry-after': 'Fri, 31 Dec 2100 23:59:59 GMT' }, 3_600_000],
    ['seconds with decimals', { 'retry-after': '90.5' }, 90_500],
    ['milliseconds', { 'retry-after-ms': '61000' }, 61_000],
  ])('a server that is busy is left alone for as long as it asks: %s', async (_, headers, nextRetryDelay) => {
    answerIn({ reply: () => ({ status: 429, headers: headers, body: {} }) });
    await expect(ask()).rejects.toMatchObject({ type: 'Model.Unreachable', nextRetryDelay });
  });

  test.each<[string, unknown]>([
    ['data', { object: 'list', data: [{ id: 'base', max_model_len: 2048 }] }],
    ['a list alone (songquanpeng/one-api #128)', [{ id: 'base', max_model_len: 2048 }]],
    ['models (vllm-project/router #134)', { models: [{ id: 'base', max_model_len: 2048 }] }],
    ['odd entries', { data: [null, { id: 7 }, { name: 'x' }, { id: 'base', max_model_len: 2048 }] }],
  ])('a list of models: %s', async (_, list) => {
    server.modelList = list;
    expect((await ask()).content).toBe('well');
  });

  test.each([{ data: null }, { data: [] }])('a list of models without any: %j', async (list) => {
    server.modelList = list;
    await expect(ask()).rejects.toThrow(/does not serve base.*it serves nothing/);
  });
});
