// A process that appends to a segment while no file may grow beyond 1000 bytes: what a full disk does, without a disk.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { LocalStore } from '../../store';

const limitFiles = (bytes: number | 'unlimited') =>
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);

async function main([root = '', key = '']: string[]): Promise<void> {
  // Without a listener the signal that comes with a refused write ends the process.
  process.on('SIGXFSZ', () => undefined);
  const store = new LocalStore(root);
  const segment = store.segment(key);
  await segment.append({ n: 1 });
  limitFiles(1000);
  const refused = await segment.append({ text: 'y'.repeat(5000) }).catch((error: NodeJS.ErrnoException) => error.code);
  const afterRefusal = readFileSync(store.localPath(key), 'utf8');
  limitFiles('unlimited');
  await segment.append({ n: 2 });
  await segment.close();
  process.stdout.write(JSON.stringify({ refused, afterRefusal, text: readFileSync(store.localPath(key), 'utf8') }));
}

void main(process.argv.slice(2));
