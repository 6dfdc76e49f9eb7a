// Tier: unit.
import { eventsIn, messagesDialect, responsesDialect, StreamTranslation } from '../../dialects';

// Whatever a dialect writes: tests say what they expect.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Event = Record<string, any>;
const NAMES = { id: '1', model: 'm', created: 1, asked: {} };
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

function translated(dialect: typeof messagesDialect, pieces: string[], most = 1_000): Event[] {
  const translation = new StreamTranslation(dialect, NAMES, most);
  const text = pieces.map((piece) => translation.push(piece)).join('') + translation.end();
  const events = eventsIn(text);
  if ('fault' in events) throw new Error(events.fault);
  return events.map(({ data }) => JSON.parse(data) as Event);
}

const kinds = (events: Event[]) => events.map(({ type }) => String(type));

describe.each([
  ['responses', responsesDialect, 'error'],
  ['messages', messagesDialect, 'error'],
] as const)('a stream of %s', (_, dialect, failed) => {
  test('ends with an error when the server ends without saying so', () => {
    expect(kinds(translated(dialect, [chunk({ content: 'half' })])).at(-1)).toBe(failed);
  });

  test('ends with an error that the server sends, and with nothing after it', () => {
    const error = 'data: {"error": {"message": "out of memory", "type": "server_error"}}\n\n';
    const events = translated(dialect, [chunk({ content: 'half' }), error, chunk({ content: 'more' }, 'stop')]);
    expect(kinds(events).filter((kind) => kind === failed)).toHaveLength(1);
    expect(kinds(events).at(-1)).toBe(failed);
    expect(JSON.stringify(events.at(-1))).toContain('out of memory');
  });

  test('ends with an error for what is no chat completion, and for an answer without end', () => {
    expect(kinds(translated(dialect, ['data: {"x": 1}\n\n'])).at(-1)).toBe(failed);
    expect(kinds(translated(dialect, [chunk({ content: 'x'.repeat(2_000) }, 'stop')])).at(-1)).toBe(failed);
  });

  test.each([
    ['arguments', (long: string) => ({ index: 0, function: { arguments: long } })],
    ['names', (long: string) => ({ index: 0, function: { name: long } })],
    ['ids', (long: string) => ({ index: 0, id: long })],
    ['calls without words', (_: string, place: number) => ({ index: place })],
  ])('ends with an error for tool calls that grow without end: their %s', (_name, callOf) => {
    const translation = new StreamTranslation(dialect, NAMES, 10_000);
    const push = (from: number, to: number) => {
      for (let place = from; place < to; place++)
        translation.push(chunk({ tool_calls: [callOf(String(place).padStart(100, 'x'), place)] }));
    };
    push(0, 50);
    expect(translation.hasFailed).toBe(false);
    expect(translation.held).toBeGreaterThanOrEqual(2 * 5_000);
    push(50, 500);
    expect(translation.hasFailed).toBe(true);
    expect(translation.push(chunk({}, 'tool_calls')) + translation.end()).toBe('');
  });

  test('is whole when the server only says that it is done', () => {
    expect(kinds(translated(dialect, [chunk({ content: 'hi' }), 'data: [DONE]\n\n']))).not.toContain(failed);
  });
});

test('each item of a response begins, grows and ends in order', () => {
  const events = translated(responsesDialect, [
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'h' }),
    chunk({ reasoning_content: 'm' }),
    chunk({ content: 'ok' }),
    chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{"a"' } }] }),
    chunk({ tool_calls: [{ index: 1, id: 'c2', function: { name: 'g', arguments: '{}' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    chunk({}, 'tool_calls'),
    'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}\n\n',
  ]);
  expect(events.map(({ sequence_number: number }) => number as number)).toEqual(events.map((_, place) => place));
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  expect(done).toEqual(events.at(-1)!['response'].output);
  expect(done.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
  expect(done[0].content[0].text).toBe('hm');
  expect(done[2].arguments).toBe('{"a":1}');
  expect(events.at(-1)!['response'].usage.total_tokens).toBe(9);
});

test('what no JSON object is becomes the empty input of a tool', () => {
  const pieces = [
    chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '[1' } }] }),
    chunk({}, 'tool_calls'),
  ];
  const delta = translated(messagesDialect, pieces).find(({ type }) => type === 'content_block_delta');
  expect(delta!['delta']).toEqual({ type: 'input_json_delta', partial_json: '{}' });
});
