// Tier: unit.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenFolderIsFull } from '../../../../activities/rollout/program/folder-room';

const ROOM = { bytes: 100_000, files: 20 };
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'whet-room-'))));
// Its paths may be too long for anything else.
afterEach(() => execFileSync('rm', ['-r', folder]));

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
  ['a file that is too large', () => writeFileSync(within('one'), 'x'.repeat(200_000)), 'more than 100000 bytes'],
  [
    'files that are too large together',
    () => ['one', 'two', 'three'].forEach((name) => writeFileSync(within(name), 'x'.repeat(40_000))),
    'more than 100000 bytes',
  ],
  [
    'too many files',
    () => Array.from({ length: 21 }, (_, i) => writeFileSync(within(`${i}`), '')),
    'more than 20 files',
  ],
  ['too many folders', () => Array.from({ length: 21 }, (_, i) => mkdirSync(within(`${i}`))), 'more than 20 files'],
  [
    'files behind a path that is longer than the kernel takes',
    () => {
      const deep =
        "import os\nfor _ in range(17): os.mkdir('d' * 250); os.chdir('d' * 250)\nopen('f', 'w').write('x' * 200_000)";
      execFileSync('python3', ['-c', deep], { cwd: folder });
    },
    'a folder that cannot be looked at (ENAMETOOLONG)',
  ],
  ['links to what is larger', () => symlinkSync('/usr', within('link')), null],
])('%s', async (_, make, said) => {
  make();
  expect(await looked()).toBe(said && `The program put ${said} into its folder.`);
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
