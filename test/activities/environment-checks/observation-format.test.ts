// Tier: unit.
import { type Format, formatDifference, learnFormat } from '../../../activities/environment-checks/observation-format';

const formatOf = (...observations: string[]): Format =>
  observations.reduce<Format | undefined>(learnFormat, undefined)!;

test('the same members with other values are the same format', () => {
  const format = formatOf('{"order":"41","items":["Mug"],"total":80}', '{"error":"no such order"}');
  expect(formatDifference(format, '{"total":7,"order":"9","items":["Pen","Rug"]}')).toBeNull();
  expect(formatDifference(format, '{"order":"9","items":[],"total":7}')).toBeNull();
  expect(formatDifference(format, '{"error":"closed"}')).toBeNull();
});

test.each([
  ['another kind', 'order 41', "is text where the agent's has object"],
  [
    'another member',
    '{"order":"41","items":[],"sum":80}',
    "has the members {items, order, sum} where the agent's has {items, order, total}",
  ],
  ['another type', '{"order":41,"items":[],"total":80}', "is number at .order where the agent's has string"],
  [
    'another type of element',
    '{"order":"41","items":[{"name":"Mug"}],"total":80}',
    "is object at .items[] where the agent's has string",
  ],
])('%s is another format', (_, observation, expected) => {
  expect(formatDifference(formatOf('{"order":"41","items":["Mug"],"total":80}'), observation)).toBe(expected);
});

test('words are words, also when they are a number', () => {
  expect(formatDifference(formatOf('450 g'), '12')).toBeNull();
});

test('members that are data are not held against anybody', () => {
  const stock = Array.from({ length: 30 }, (_, i) => JSON.stringify({ [`P${i}`]: i }));
  expect(formatDifference(formatOf(...stock), '{"P99":1}')).toBeNull();
});
