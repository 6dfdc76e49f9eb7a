// Tier: unit.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenFolderIsFull } from '../../../../activities/rollout/program/folder-room';

const ROOM = { bytes: 100_000, files: 10 };
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'whet-room-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const within = (name: string): string => {
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  return join(folder, 'a', 'b', name);
};
/** What is said by a look that is the last one. */
async function looked(): Promise<string | null> {
  const over = new AbortController();
  const full = whenFolderIsFull(folder, over.signal, ROOM);
  // The first look is under way.
  over.abort();
  return full;
}

test.each<[what: string, make: () => void, said: string | null]>([
  ['nothing', () => undefined, null],
  ['a file', () => writeFileSync(within('one'), 'x'.repeat(50_000)), null],
  ['a file that is too large', () => writeFileSync(within('one'), 'x'.repeat(200_000)), '100000 bytes'],
  [
    'files that are too large together',
    () => ['one', 'two', 'three'].forEach((name) => writeFileSync(within(name), 'x'.repeat(40_000))),
    '100000 bytes',
  ],
  ['too many files', () => Array.from({ length: 11 }, (_, i) => writeFileSync(within(`${i}`), '')), '10 files'],
  ['too many folders', () => Array.from({ length: 11 }, (_, i) => mkdirSync(within(`${i}`))), '10 files'],
  ['links to what is larger', () => symlinkSync('/usr', within('link')), null],
])('%s', async (_, make, said) => {
  make();
  expect(await looked()).toBe(said && `The program put more than ${said} into its folder.`);
});

test('what is put there later is seen', async () => {
  const over = new AbortController();
  const full = whenFolderIsFull(folder, over.signal, ROOM);
  writeFileSync(within('one'), 'x'.repeat(200_000));
  expect(await full).toContain('100000 bytes');
});

test('nothing looks any more after the signal', async () => {
  const over = new AbortController();
  const full = whenFolderIsFull(folder, over.signal, ROOM);
  over.abort();
  expect(await full).toBeNull();
});
