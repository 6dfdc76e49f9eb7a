// tier: unit
import { createOutput, duration, table } from '../../cli/output';

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

describe('text of others', () => {
  const HOSTILE = 'fine\u001b]52;c;cm0gLXJm\u0007\u009b2J\u202efdp.exe\u2028\r\ud800';
  const SPELLED = 'fine\\u001b]52;c;cm0gLXJm\\u0007\\u009b2J\\u202efdp.exe\\u2028\\u000d\\ud800';
  const written = (json: boolean, live = false) => {
    const texts: string[] = [];
    const stream = { write: (text: string) => (texts.push(text), true), isTTY: live, columns: 200 };
    return { texts, out: createOutput(json, stream) };
  };

  test('is spelled out in lines, results and tables', () => {
    const { texts, out } = written(false);
    out.line(HOSTILE);
    out.result({}, HOSTILE);
    out.result({}, table([['fine\u009b', 'a\n✓ forged']]));
    expect(texts).toEqual([`${SPELLED}\n`, `${SPELLED}\n`, expect.stringMatching(/^fine.*a ✓ forged\n$/)]);
  });

  test('stays the same JSON with --json, without a character that acts on a terminal', () => {
    const { texts, out } = written(true);
    const value = { observation: `${HOSTILE}\u{e0041}`, [HOSTILE]: 1 };
    out.result(value, '');
    expect(JSON.parse(texts[0]!)).toEqual(value);
    expect(texts[0]).toMatch(/^[\n\x20-\x7e]+$/);
  });

  test('cannot move in the lines that are drawn over', () => {
    const { texts, out } = written(false, true);
    out.redraw([`a  b\n${HOSTILE}`]);
    expect(texts[0]).toBe(`\u001b[2Ka  b ${SPELLED.replace('\\u2028\\u000d', '  ')}\n`);
  });
});
