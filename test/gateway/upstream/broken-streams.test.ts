// tier: integration
import type { ServerResponse } from 'node:http';
import { chunkEvent, completion, send } from '../../fakes/replica';
import { type Answer, GatewayFixture, versionOf } from '../gateway-fixture';

const SILENT_MS = 300;
const OPEN_BYTES = 1_000_000;

/** A gateway with one model server, which answers as a test says. */
function withGateway(timeouts: { firstByteMs?: number }) {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({
      registry: { versions: [versionOf(1, 'weigh')] },
      config: { retries: 0, limits: { openBytes: OPEN_BYTES }, timeouts },
    }),
  );
  afterAll(() => fixture.stop());
  afterEach(() => (fixture.replicas[0]!.behaviour = null));
  const ask = (behave: (response: ServerResponse) => void, more = {}): Promise<Answer> => {
    fixture.replicas[0]!.behaviour = (_, response) => {
      behave(response);
      return true;
    };
    return fixture.chat('hi', { model: 'desk@base', ...more });
  };
  const streamed = (write: (response: ServerResponse) => void): Promise<Answer> =>
    ask(
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        write(response);
      },
      { stream: true },
    );
  return { fixture, ask, streamed };
}

const lastEvent = ({ text }: Answer) => text.trim().split('\n\n').at(-1);

describe('a stream without data', () => {
  const { streamed } = withGateway({ firstByteMs: SILENT_MS });

  it.each([
    ['comments', ': still here\n\n'],
    ['pieces of one event', 'x'],
  ])('a stream of %s alone ends', async (_name, piece) => {
    const answer = await streamed((response) => {
      response.write(`${chunkEvent('m', 'good')}${piece === 'x' ? 'data: {"x":"' : ''}`);
      const more = setInterval(() => response.write(piece), 10);
      response.on('close', () => clearInterval(more));
    });
    expect(lastEvent(answer)).toContain(`sent no event with data for ${SILENT_MS} ms`);
  });
});

describe('an answer that a client should not get as it is', () => {
  const { fixture, ask, streamed } = withGateway({});

  it.each([
    ['control characters', 'data: {"x":"\u001b]52;c;AAAA\u0007"}\n\n'],
    ['data that is not JSON', 'data: {"x":\n\n'],
    ['data that is not JSON', 'data: [1]\n\n'],
    ['a line that is no field', '<script>alert(1)</script>\n\n'],
  ])('an event with %s is an error instead: %j', async (fault, event) => {
    const alone = await streamed((response) => void response.end(event));
    expect([alone.status, alone.json['error']?.code]).toEqual([502, 'upstream_junk']);
    const later = await streamed((response) => {
      response.write(chunkEvent('m', 'good'));
      setTimeout(() => response.end(`${event}data: [DONE]\n\n`), 20);
    });
    expect(later.text.startsWith(chunkEvent('m', 'good'))).toBe(true);
    expect(lastEvent(later)).toContain(`The model server sent an event with ${fault}.`);
    expect(later.text).not.toContain(event.trim());
  });

  it.each(['event: mess', 'id: 1', 'data: {"x":', 'data'])(
    'that ends in the middle of an event (%s) says so',
    async (cut) => {
      const answer = await streamed((response) => void response.end(`${chunkEvent('m', 'good')}${cut}`));
      expect(answer.text.startsWith(chunkEvent('m', 'good'))).toBe(true);
      expect(lastEvent(answer)).toContain('in the middle of an event');
    },
  );

  it.each(['data: [DONE]', ': the end'])('that ends with %s lacks its blank line only', async (end) => {
    const answer = await streamed((response) => void response.end(`${chunkEvent('m', 'good')}${end}`));
    expect(answer.text).toBe(`${chunkEvent('m', 'good')}${end}\n\n`);
  });

  it('comments before the first event do not end a stream that goes on', async () => {
    const answer = await streamed((response) => {
      response.write(': still here\n\n');
      setTimeout(() => response.end(`${chunkEvent('m', 'good')}data: [DONE]\n\n`), 100);
    });
    expect(answer.text).toBe(`: still here\n\n${chunkEvent('m', 'good')}data: [DONE]\n\n`);
  });

  it.each([
    ['an answer', false],
    ['an event', true],
  ])('%s that takes more memory than is left is refused', async (_name, stream) => {
    const text = 'y'.repeat(2 * OPEN_BYTES);
    const answer = stream
      ? await streamed((response) => void response.write(`data: {"x":"${text}`))
      : await ask((response) => void send(response, 200, completion('desk-base', text)));
    expect([answer.status, answer.json['error']?.code]).toEqual([503, 'overloaded']);
    expect((await fixture.chat('hi again', { model: 'desk@base' })).status).toBe(503);
    fixture.replicas[0]!.behaviour = null;
    // What was held is given back.
    expect((await fixture.chat('hi again', { model: 'desk@base' })).status).toBe(200);
  });

  it('has headers that concern the request, and no others', async () => {
    const answer = await ask((response) =>
      send(response, 200, JSON.stringify(completion('desk-base', 'hello')), {
        'content-type': 'text/html',
        'x-request-id': 'r1',
        'openai-processing-ms': '7',
        'x-ratelimit-remaining-requests': 'a\u009bb',
        'access-control-allow-origin': '*',
        'x-accel-redirect': '/etc/passwd',
        link: '<http://elsewhere/>; rel=preload',
      }),
    );
    const names = ['x-request-id', 'openai-processing-ms', 'content-type'];
    expect(names.map((name) => answer.headers.get(name))).toEqual(['r1', '7', 'application/json']);
    const left = ['x-ratelimit-remaining-requests', 'access-control-allow-origin', 'x-accel-redirect', 'link'];
    expect(left.map((name) => answer.headers.get(name))).toEqual(left.map(() => null));
  });
});
