// Tier: unit.
import { parseArguments, requestText, sentMessages } from '../../../activities/rollout/sent-messages';

const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const called = (name: string, text: string) => ({
  role: 'assistant' as const,
  content: null,
  tool_calls: [{ id: 'call_0_0', type: 'function' as const, function: { name, arguments: text } }],
});
const sent = (name: string, text: string) =>
  sentMessages([called(name, text)], new Set(['weigh', 'desk.weigh']))[0]!.tool_calls![0]!.function;

test.each([
  ['', {}],
  [' \n', {}],
  ['{}', {}],
  ['{"a":1}', { a: 1 }],
  ['{"a":"\\ud83d"}', { a: '\ufffd' }],
  ['{"\\ud83d":{"\\ude00":[1]}}', { '\ufffd': { '\ufffd': [1] } }],
  ['{"a":"\\ud83d\\ude00"}', { a: '😀' }],
  ['{"a": ', null],
  ['[1]', null],
  ['"text"', null],
  ['null', {}],
  [' ""', {}],
  ['7', null],
  ['2.0', null],
  ['-0', null],
  ['1e2', null],
  ['12345678901234567890', null],
  [deep(47), JSON.parse(deep(47)) as unknown],
  [deep(48), null],
  [deep(100_000), null],
])('arguments %#', (text, expected) => {
  expect(parseArguments(text)).toEqual(expected);
});

test.each([
  '{"id":2512292042121000001}',
  '{"a":2.0,"b":[1E5,-0.0,1.10]}',
  '{"a":0.1,"b":-7,"c":"2.0"}',
  deep(47).replace('1', '1.0'),
])('an environment gets the numbers of %s as they were written', (text) => {
  expect(JSON.stringify(parseArguments(text))).toBe(text);
});

test('a number that is beyond all numbers is no argument', () => {
  expect(parseArguments('{"a":1e400}')).toBeNull();
});

test.each([
  ['weigh', '{ "a" : 1 }', 'weigh', '{ "a" : 1 }'],
  ['weigh', '{"a":"\\ud83d\\ude00"}', 'weigh', '{"a":"\\ud83d\\ude00"}'],
  ['weigh', '{"a":"\\\\ud83d"}', 'weigh', '{"a":"\\\\ud83d"}'],
  ['weigh', '', 'weigh', '{}'],
  ['weigh', 'null', 'weigh', '{}'],
  ['weigh', '{"a": ', 'weigh', '{}'],
  ['weigh', '[1]', 'weigh', '{}'],
  ['weigh', '2.0', 'weigh', '{}'],
  ['weigh', '{"a":"\\ud83d"}', 'weigh', '{"a":"\ufffd"}'],
  ['desk.weigh', '{}', 'desk.weigh', '{}'],
  ['made up.tool', '{}', 'made_up_tool', '{}'],
  ['', '{}', 'unnamed', '{}'],
  ['x'.repeat(300), '{}', 'x'.repeat(64), '{}'],
])('the call %j(%j) goes back as %j(%j)', (name, text, sentName, sentText) => {
  expect(sent(name, text)).toEqual({ name: sentName, arguments: sentText });
});

test('a reply with neither text nor calls goes back as empty text, other messages as they are', () => {
  const user = { role: 'user' as const, content: 'hello' };
  expect(sentMessages([user, { role: 'assistant', content: null }], new Set())).toEqual([
    user,
    { role: 'assistant', content: '' },
  ]);
});

test('no request holds half a surrogate pair, and others keep their bytes', () => {
  expect(requestText({ a: ['x\ud83d', 'y'], '\ude00': '😀' })).toBe('{"a":["x\ufffd","y"],"\ufffd":"😀"}');
  expect(requestText({ a: '\\ud83d' })).toBe(JSON.stringify({ a: '\\ud83d' }));
});
