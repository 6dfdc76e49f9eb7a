// tier: unit
import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import { readStream, readWhole, toChatMessage } from '../../dialects';

const event = (value: unknown) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const delta = (said: object, more = {}) => ({ choices: [{ index: 0, delta: said, finish_reason: null, ...more }] });
const STOP = event(delta({}, { finish_reason: 'stop' }));
const DONE = event('[DONE]');

function reading<T>(read: (leftOut: Set<LeftOut>) => T): { read: T; leftOut: LeftOut[] } {
  const leftOut = new Set<LeftOut>();
  return { read: read(leftOut), leftOut: [...leftOut] };
}
const streamed = (body: string) => {
  const { read, leftOut } = reading((missing) => readStream(body, missing));
  return { message: read.message, leftOut };
};
const answer = (message: Partial<ChatMessage>, ...leftOut: LeftOut[]) => ({
  message: { role: 'assistant', content: null, ...message },
  leftOut,
});
const said = (...texts: string[]) => texts.map((content) => event(delta({ content }))).join('');
const call = (name: string, text: string, id = 'c') => ({ id, type: 'function', function: { name, arguments: text } });

describe('a streamed answer', () => {
  it.each([
    [
      '[DONE] inside a text',
      said('Status: ', 'ticket [DONE] and ', 'closed') + STOP + DONE,
      'Status: ticket [DONE] and closed',
    ],
    ['[DONE] as a whole piece', said('[', '[DONE]', 'data: [DONE]', ']') + STOP + DONE, '[[DONE]data: [DONE]]'],
    ['an end mark among blanks', `${said('a')}data:   [DONE]  \n\n`, 'a'],
    ['no blank behind the colon', `${said('a', 'b').replaceAll('data: ', 'data:')}${DONE}`, 'ab'],
    [
      'events of several data lines',
      `data: {"choices":[{"index":0,\ndata: "delta":{"content":"two lines"}}]}\n\n${DONE}`,
      'two lines',
    ],
    ['other ends of lines', (said('a', 'b') + STOP + DONE).replaceAll('\n', '\r\n'), 'ab'],
    ['the oldest ends of lines', (said('a', 'b') + STOP + DONE).replaceAll('\n', '\r'), 'ab'],
    ['comments, names and ids', `: ping\n\nevent: chunk\nid: 7\nretry: 5\n${said('a')}: ping\n\n${STOP}`, 'a'],
    ['a line feed in a text', said('a\n\ndata: x\n\nb') + DONE, 'a\n\ndata: x\n\nb'],
    ['an end without its mark', said('a') + STOP, 'a'],
    ['a last event without its blank line', `${said('a')}data: [DONE]`, 'a'],
    [
      'parts instead of text',
      event(
        delta({
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        }),
      ) + STOP,
      'ab',
    ],
    [
      'a message instead of what is new',
      event({ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }),
      'a',
    ],
    [
      'events without choices',
      `${event({ choices: [], usage: null })}${said('a')}${event({ choices: null })}${DONE}`,
      'a',
    ],
  ])('with %s', (_name, body, content) => expect(streamed(body)).toEqual(answer({ content })));

  it.each([
    ['reasoning_content', [{ reasoning_content: 'France, ' }, { reasoning_content: 'so' }, { content: 'Paris' }]],
    ['reasoning', [{ reasoning: 'France, ' }, { reasoning: 'so' }, { content: 'Paris' }]],
    [
      'both',
      [
        { reasoning_content: 'France, so', reasoning: 'France, so' },
        { content: 'Paris', reasoning: null },
      ],
    ],
  ])('keeps what was thought, as %s', (_name, deltas) => {
    const body = deltas.map((one) => event(delta(one))).join('') + STOP;
    expect(streamed(body)).toEqual(answer({ content: 'Paris', reasoning_content: 'France, so' }));
  });

  it('keeps a refusal as its text', () => {
    const body = event(delta({ content: '', refusal: 'I ' })) + event(delta({ refusal: 'cannot.' })) + STOP;
    expect(streamed(body)).toEqual(answer({ content: 'I cannot.' }));
  });

  it.each([
    [
      'in pieces',
      [
        { index: 0, ...call('find', '{"a"') },
        { index: 0, id: null, function: { name: null, arguments: ':1}' } },
      ],
    ],
    [
      'with names and ids repeated',
      [
        { index: 0, ...call('find', '{"a"') },
        { index: 0, ...call('find', ':1}') },
      ],
    ],
    ['with arguments as an object', [{ index: 0, id: 'c', function: { name: 'find', arguments: { a: 1 } } }]],
  ])('keeps calls %s', (_name, pieces) => {
    const body = pieces.map((piece) => event(delta({ tool_calls: [piece] }))).join('') + STOP;
    expect(streamed(body)).toEqual(answer({ tool_calls: [call('find', '{"a":1}')] } as Partial<ChatMessage>));
  });

  it.each<[string, string, string, LeftOut[]]>([
    ['breaks off', said('half'), 'half', ['end']],
    ['has no event', '', '', ['end']],
    ['ends with an error', said('half') + event(delta({}, { finish_reason: 'error' })) + DONE, 'half', ['end']],
    ['ends with an error event', said('half') + event({ error: { message: 'x' } }), 'half', ['end']],
    ['was aborted', said('half') + event(delta({}, { finish_reason: 'abort' })) + DONE, 'half', ['end']],
    ...[
      ...['safety', 'recitation', 'blocklist', 'sensitive', 'guardrail_intervened', 'insufficient_system_resource'],
      'SAFETY',
    ].map((reason): [string, string, string, LeftOut[]] => [
      `ended with ${reason}`,
      said('half') + event(delta({}, { finish_reason: reason })) + DONE,
      'half',
      ['end'],
    ]),
    ['was filtered', said('half') + event(delta({}, { finish_reason: 'content_filter' })) + DONE, 'half', ['end']],
    [
      'has several choices',
      event({ choices: [{ index: 1, delta: { content: 'b' } }] }) + said('a') + DONE,
      'a',
      ['choices'],
    ],
    ['has sound', event(delta({ audio: { data: 'x' } })) + said('a') + STOP, 'a\n[left out: audio]', ['audio']],
    [
      'has images',
      event(delta({ content: '', images: [{ type: 'image_url' }] })) + STOP,
      '[left out: image]',
      ['image'],
    ],
    ['has an old call', event(delta({ function_call: { name: 'f' } })) + STOP, '[left out: other]', ['other']],
  ])('that %s is marked', (_name, body, content, leftOut) =>
    expect(streamed(body)).toEqual(answer({ content }, ...leftOut)),
  );

  it('says whether it was cut at the limit of tokens', () => {
    const cut = said('half') + event(delta({}, { finish_reason: 'length' })) + DONE;
    expect(reading((leftOut) => readStream(cut, leftOut))).toMatchObject({ read: { cut: true }, leftOut: [] });
  });

  it.each([
    ['data that is no JSON', 'data: {"x\n\n'],
    ['a line that is no field', '<html>\n\n'],
    ['a call with a text for an index', event(delta({ tool_calls: [{ ...call('find', '{}'), index: '0' }] })) + STOP],
  ])('with %s cannot be read', (_name, body) => expect(() => streamed(body)).toThrow());
});

describe('a whole answer', () => {
  const whole = (message: object, more = {}, ...others: object[]) =>
    reading((leftOut) =>
      readWhole(
        JSON.stringify({ choices: [{ message: { role: 'assistant', ...message }, ...more }, ...others] }),
        leftOut,
      ),
    );
  it.each<[string, object, Partial<ChatMessage>]>([
    ['reasoning', { content: 'a', reasoning: 'r', reasoning_content: null }, { content: 'a', reasoning_content: 'r' }],
    ['a refusal', { content: null, refusal: 'no' }, { content: 'no' }],
    [
      'an empty text beside calls',
      { content: '', tool_calls: [call('f', '{}')] },
      { tool_calls: [call('f', '{}')] } as never,
    ],
    ['arguments that are empty', { tool_calls: [call('f', '')] }, { tool_calls: [call('f', '{}')] } as never],
    ['arguments that are null', { tool_calls: [call('f', null as never)] }, { tool_calls: [call('f', '{}')] } as never],
    [
      'arguments that are an object',
      { tool_calls: [call('f', { a: 1 } as never)] },
      { tool_calls: [call('f', '{"a":1}')] } as never,
    ],
    [
      'calls without a type',
      { tool_calls: [{ ...call('f', '{}'), type: undefined }] },
      { tool_calls: [call('f', '{}')] } as never,
    ],
    ['no calls', { content: 'a', tool_calls: null }, { content: 'a' }],
    ['parts', { content: [{ type: 'output_text', text: 'a' }] }, { content: 'a' }],
  ])('with %s', (_name, wire, message) => {
    const { read, leftOut } = whole(wire);
    expect({ message: read.message, leftOut }).toEqual(answer(message));
  });

  it.each<[string, object, object, object[], LeftOut[]]>([
    ['several choices', {}, { index: 0 }, [{ index: 1, message: { content: 'b' } }], ['choices']],
    ['several choices without indexes', {}, {}, [{ message: { content: 'b' } }], ['choices']],
    ['an end that a filter made', {}, { finish_reason: 'content_filter' }, [], ['end']],
    ['sound', { audio: { id: 'x', transcript: 'a' } }, {}, [], ['audio']],
  ])('with %s is marked', (_name, message, more, others, leftOut) =>
    expect(whole({ content: 'a', ...message }, more, ...others).leftOut).toEqual(leftOut),
  );
});

describe('a message of a request', () => {
  it.each<[string, unknown, string | null, LeftOut[]]>([
    ['an image', [{ type: 'image_url', image_url: { url: 'data:' } }], '[left out: image]', ['image']],
    [
      'a text and an image',
      [{ type: 'text', text: 'what?' }, { type: 'input_image' }],
      'what?\n[left out: image]',
      ['image'],
    ],
    ['an image with a caption', [{ type: 'image', text: 'a cat' }], '[left out: image]', ['image']],
    ['sound', [{ type: 'input_audio' }, { type: 'audio_url' }], '[left out: audio]\n[left out: audio]', ['audio']],
    ['a film', [{ type: 'video_url' }], '[left out: video]', ['video']],
    ['a file', [{ type: 'file', file: {} }, { type: 'document' }], '[left out: file]\n[left out: file]', ['file']],
    ['what is not known', [{ type: 'thing' }, null, 5], Array(3).fill('[left out: other]').join('\n'), ['other']],
    ['a text that is none', [{ type: 'text', text: 5 }], '[left out: other]', ['other']],
    ['texts', [{ type: 'text', text: 'a' }, { text: 'b' }, 'c', { type: 'input_text', text: 'd' }], 'a\nb\nc\nd', []],
    ['a refusal', [{ type: 'refusal', refusal: 'no' }], 'no', []],
    ['an object', { type: 'image_url' }, '[left out: image]', ['image']],
    ['no parts', [], '', []],
    ['an empty text', '', '', []],
    ['nothing', null, null, []],
  ])('with %s', (_name, content, text, leftOut) =>
    expect(reading((missing) => toChatMessage({ role: 'user', content }, missing))).toEqual({
      read: { role: 'user', content: text },
      leftOut,
    }),
  );

  it.each([
    ['audio', { id: 'x' }, 'audio'],
    ['images', [{}], 'image'],
    ['function_call', { name: 'f' }, 'other'],
  ])('with the field %s is marked', (field, value, kind) => {
    const message = { role: 'assistant', content: 'a', [field]: value };
    expect(reading((leftOut) => toChatMessage(message, leftOut)).leftOut).toEqual([kind]);
    expect(reading((leftOut) => toChatMessage({ ...message, [field]: null }, leftOut)).leftOut).toEqual([]);
  });

  it.each([{ role: 'robot', content: 'x' }, { content: 'x' }, { role: 'function', name: 'f', content: 'x' }])(
    'of an unknown role cannot be kept: %j',
    (message) => expect(() => toChatMessage(message, new Set())).toThrow(),
  );
});
