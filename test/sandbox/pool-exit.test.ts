// tier: jail (the built pool in a process of its own)
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hostileSource } from './hostile';

const SOURCE = hostileSource('return ""', '');
const SANDBOX = join(__dirname, '..', '..', 'dist', 'sandbox');
/** Opens and closes an environment, waits for the jail that the pool starts in advance, closes the pool and ends. */
const PROGRAM = `
const { EnvironmentPool } = require(${JSON.stringify(SANDBOX)});
(async () => {
  const pool = new EnvironmentPool();
  const options = { source: ${JSON.stringify(SOURCE)}, trust: 'synthesised', name: 'first' };
  await (await pool.open(options)).close();
  while (pool.size === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await pool.close();
})();`;

/** Looks again when a group of another process went while it was looked at. */
function groupsOf(pid: number): string[] {
  for (;;)
    try {
      const paths = readdirSync('/sys/fs/cgroup', { recursive: true }) as string[];
      return paths.filter((path) => path.split('/').at(-1)?.startsWith(`whetstone-jail-${pid}-`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
}

test('a program that closes its pool and ends leaves no control group behind', async () => {
  const program = spawn(process.execPath, ['-e', PROGRAM], { stdio: 'inherit' });
  expect(await once(program, 'exit')).toEqual([0, null]);
  expect(groupsOf(program.pid as number)).toEqual([]);
});
