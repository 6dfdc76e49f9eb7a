// tier: unit
import { duration, table } from '../../cli/output';

test.each([
  [0.44, '0.4 s'],
  [12.4, '12 s'],
  [185, '3 min 05 s'],
  [7800, '2 h 10 min'],
])('%d seconds are said as %s', (seconds, text) => expect(duration(seconds)).toBe(text));

test('a table aligns its columns', () => {
  expect(
    table(
      [
        ['a', 'bb', 'c'],
        ['aaa', 'b', 'cc'],
      ],
      [1],
    ),
  ).toBe('a    bb  c\naaa   b  cc');
});
