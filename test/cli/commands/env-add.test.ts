// Tier: unit.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { madeWhole } from '../../../cli/commands/env-add';

const home = mkdtempSync(join(tmpdir(), 'whet-env-add-'));
const folder = join(home, 'environments', 'tau2-1');
afterEach(() => rmSync(join(home, 'environments'), { recursive: true, force: true }));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Makes a folder with a file, and waits in between. */
const making = (who: string, until: Promise<void>) =>
  madeWhole(folder, async (unfinished) => {
    mkdirSync(unfinished);
    await until;
    writeFileSync(join(unfinished, 'who'), who);
  });

test('two who make the same folder at a time both succeed, and one whole folder is left', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = making('first', promise);
  const second = making('second', promise);
  resolve();
  await Promise.all([first, second]);
  expect(readdirSync(join(home, 'environments'))).toEqual(['tau2-1']);
  expect(['first', 'second']).toContain(readFileSync(join(folder, 'who'), 'utf8'));
});

test('one that fails leaves nothing behind', async () => {
  await expect(making('first', Promise.reject(new Error('no such package')))).rejects.toThrow('no such package');
  expect(readdirSync(join(home, 'environments'))).toEqual([]);
});
