// tier: integration (the built `whet` as a process)
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

test('a reader who has had enough is no error: `whet ... | head` ends without a stack trace', async () => {
  const child = spawn(join(__dirname, '..', '..', 'whet'), ['--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  // Long before the first word is written.
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(said).toBe('');
  expect(code).toBe(141);
});
