// tier: integration
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory that becomes a read-only disk in the mount namespace of a child process. */
const folder = mkdtempSync(join(tmpdir(), 'whet-read-only-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a read-only disk is named as that, where a folder has to be made as well', () => {
  const mount = 'mount -t tmpfs -o ro tmpfs "$0" && exec "$@"';
  const node = [process.execPath, '-r', join(__dirname, '..', 'run-typescript.js')];
  const output = execFileSync(
    'unshare',
    ['--map-root-user', '--mount', 'sh', '-c', mount, folder, ...node, join(__dirname, 'read-only-writes.ts'), folder],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const said = JSON.parse(output.trim().split('\n').at(-1)!) as Record<string, string>;
  const { up, down, ...others } = said;
  // In an empty directory that is there, nothing has to be ended.
  expect(down).toBe('');
  const refused = expect.stringMatching(/^whet: \/.*: the disk is read-only\. Make it writable, or set WHET_HOME/);
  expect(up).toEqual(refused);
  expect(others).toEqual({
    ...Object.fromEntries(
      ['artifact', 'document', 'segment', 'created', 'replaced'].map((write) => [write, 'Store.Unavailable']),
    ),
    'up in a folder to be made': refused,
    'down in a folder to be made': refused,
  });
});
