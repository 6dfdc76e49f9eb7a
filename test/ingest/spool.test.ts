// tier: unit
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Spool } from '../../ingest/spool';

const folder = mkdtempSync(join(tmpdir(), 'whet-test-spool-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('gives the values of a key together and in order, from files and from memory', () => {
  const spool = new Spool<string>(folder, 'mixed', 3_000_000);
  const keys = ['a\tb\n"é', 'b', 'c'];
  // Longer than what is searched for lines at once.
  for (let round = 0; round < 4; round++)
    for (const key of keys) spool.add(key, `${key}${round}\t\n${'ü'.repeat(400_000)}`);
  spool.add('b', 'last');
  expect(readdirSync(folder).length).toBeGreaterThan(0);
  const groups = [...spool.groups()].sort(([a], [b]) => (a < b ? -1 : 1));
  expect(groups.map(([key, values, more]) => [key, values.map((value) => value.replace(/ü+$/, '')), more])).toEqual(
    keys.map((key) => [
      key,
      [...[0, 1, 2, 3].map((round) => `${key}${round}\t\n`), ...(key === 'b' ? ['last'] : [])],
      0,
    ]),
  );
});

it.each([0, 1_000_000])('reads no more of one key than fits, and says how much there is, %d waiting', (mostWaiting) => {
  const spool = new Spool<string>(folder, `hot-${mostWaiting}`, mostWaiting, 100);
  for (let round = 0; round < 5; round++) spool.add('hot', `${round}${'x'.repeat(40)}`);
  spool.add('cold', 'x');
  const groups = [...spool.groups()].map(([key, values, more]) => [key, values.length, more]);
  expect(groups.sort()).toEqual([
    ['cold', 1, 0],
    ['hot', 2, 3],
  ]);
});
