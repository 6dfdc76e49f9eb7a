// tier: unit
import { parseLenient } from '../../contracts/lenient-json';

test.each<[string, unknown]>([
  ['{"a": NaN, "b": [-Infinity, Infinity, 1]}', { a: null, b: [null, null, 1] }],
  ['{"a": "NaN", "b": "x\\"NaN\\\\", "NaN": NaN}', { a: 'NaN', b: 'x"NaN\\', NaN: null }],
  ['["\\\\", NaN, "\\"", NaN]', ['\\', null, '"', null]],
  ['{"a": "NaN', undefined],
  ['["a\\', undefined],
  ['["a\nNaN"]', undefined],
])('%s', (text, value) => expect(parseLenient(text)).toEqual(value));

test('a string that is never closed is read once, not from each of its quotes', () => {
  expect(parseLenient(`{"a": NaN, "b": "${'\\"'.repeat(2_000_000)}`)).toBeUndefined();
});
