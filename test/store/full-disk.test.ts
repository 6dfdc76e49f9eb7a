// tier: integration
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory that becomes a disk of 256 KiB in the mount namespace of a child process. */
const folder = mkdtempSync(join(tmpdir(), 'whet-full-disk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a full disk is Store.Full, leaves nothing half done, and is no trouble once there is room', () => {
  const mount = 'mount -t tmpfs -o size=256k tmpfs "$0" && exec "$@"';
  const node = [process.execPath, '-r', join(__dirname, '..', 'run-typescript.js')];
  const script = join(__dirname, 'full-disk-writes.ts');
  const output = execFileSync(
    'unshare',
    ['--map-root-user', '--mount', 'sh', '-c', mount, folder, ...node, script, folder],
    { encoding: 'utf8' },
  );
  const result = JSON.parse(output) as { failures: Record<string, string> } & Record<string, unknown>;
  expect(Object.keys(result.failures)).toHaveLength(7);
  for (const message of Object.values(result.failures))
    expect(message).toMatch(/^Store\.Full: The disk of the store is full: \S+ could not be written \(ENOSPC\)\. Free/);
  expect(result).toMatchObject({ leftovers: [], kept: 'kept', changed: 'changed', segment: '"kept"\n"after"\n' });
});
