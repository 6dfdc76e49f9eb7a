// unit
import { PassThrough } from 'node:stream';
import { BoundedTail, type ChannelFault, parseLine, readLines } from '../../sandbox/line-channel';

function lines(chunks: readonly (string | Buffer)[], cap = 10): { lines: string[]; faults: ChannelFault[] } {
  const stream = new PassThrough();
  const got = { lines: [] as string[], faults: [] as ChannelFault[] };
  readLines(
    stream,
    cap,
    (line) => got.lines.push(line),
    (fault) => got.faults.push(fault),
  );
  for (const chunk of chunks) stream.emit('data', Buffer.from(chunk));
  return got;
}

test('lines are cut wherever the chunks end', () => {
  expect(lines(['ab', 'c\nd', '\n\ne'])).toEqual({ lines: ['abc', 'd', ''], faults: [] });
});

test('a character may be split between chunks', () => {
  const euro = Buffer.from('€\n');
  expect(lines([euro.subarray(0, 1), euro.subarray(1)])).toEqual({ lines: ['€'], faults: [] });
});

test('a line over the cap, finished or not, ends the channel once', () => {
  expect(lines(['12345678901', '\nok\n'])).toEqual({ lines: [], faults: ['line-too-long'] });
  expect(lines(['ok\n12345678901\nno\n'])).toEqual({ lines: ['ok'], faults: ['line-too-long'] });
});

test('bytes that are not UTF-8 end the channel', () => {
  expect(lines([Buffer.from([0xff, 0x0a]), 'no\n'])).toEqual({ lines: [], faults: ['not-utf8'] });
});

test.each([
  ['[[[]]]', 3, [[[]]]],
  ['[[[]]]', 2, undefined],
  ['[{"a": [1]}]', 2, undefined],
  ['["[[[[[["]', 2, ['[[[[[[']],
  ['[[], [], [], [], []]', 2, [[], [], [], [], []]],
  [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 72, undefined],
  ['{"a": ', 3, undefined],
])('only a line of JSON that does not nest too deep is read: row %#', (line, depth, read) => {
  expect(parseLine(line, depth)).toEqual(read);
});

test('a flood is told once, and the end of it is kept', () => {
  const stream = new PassThrough();
  let floods = 0;
  const tail = new BoundedTail(stream, 4, 10, () => floods++);
  for (const chunk of ['123456', '789', '0ab', 'cd']) stream.emit('data', Buffer.from(chunk));
  expect([tail.text(), floods]).toEqual(['abcd', 1]);
});
