// tier: unit
import { csvRows } from '../../ingest/outcomes/csv';

async function rowsOf(text: string, separator = ','): Promise<unknown[]> {
  async function* pieces() {
    yield Buffer.from(text.slice(0, 7));
    yield Buffer.from(text.slice(7));
  }
  const rows: unknown[] = [];
  for await (const row of csvRows(pieces(), separator))
    rows.push('reason' in row ? [row.line, row.reason] : [row.line, ...Object.values(row.fields)]);
  return rows;
}

it('takes a quote within a value as text', async () => {
  const text = 'id\tnote\toutcome\nc7\t5" pipe\tfail\nc8\t6" pipe\tpass\n"c9"\t"a ""b""\tc\r\nd"\tpass\r\n';
  expect(await rowsOf(text, '\t')).toEqual([
    [2, 'c7', '5" pipe', 'fail'],
    [3, 'c8', '6" pipe', 'pass'],
    [4, 'c9', 'a "b"\tc\r\nd', 'pass'],
  ]);
});

it('names rows with too many values, and each line that a quote took which is never closed', async () => {
  expect(await rowsOf('id,score\na,1\nb,"good, but" 1,1\nc,1,,\nd,"open\ne,1\n\nf,1\n')).toEqual([
    [2, 'a', '1'],
    [3, 'more values than the header has names'],
    [4, 'c', '1'],
    ...[5, 6, 7, 8].map((line) => [line, 'in a quoted value that does not end']),
  ]);
});

it('goes on after a line, or an open value, that is too long', async () => {
  const long = 'x'.repeat(600_000);
  expect(await rowsOf(`id,score\na,${long}${long}\nb,"${long}\n${long}\nc,1\n`)).toEqual([
    [2, 'longer than 1000000 bytes'],
    [3, 'in a quoted value that does not end'],
    [4, 'in a quoted value that does not end'],
    [5, 'c', '1'],
  ]);
});
