// Writes to a store and a state directory on a read-only disk, and prints what each write says. Started by
// read-only-disk.test.ts.
import { join } from 'node:path';
import { runCommandLine } from '../../cli/run-command-line';
import { PORTS } from '../../cli/settings';
import { freePort } from '../../cli/supervisor/ports';
import { createFile, LocalStore, replaceFile } from '../../store';

const [folder] = process.argv.slice(2) as [string];
const store = new LocalStore(folder);
const writes: Record<string, () => Promise<unknown>> = {
  artifact: () => store.put('runs/run-1', 'a.txt', 'text'),
  document: () => store.swapDocument('registry/desk.json', {}, null),
  segment: () => store.segment('runs/run-1/work/collect.jsonl').append({}),
  created: () => createFile(join(folder, 'runs', 'run-1', 'file'), ''),
  replaced: () => replaceFile(join(folder, 'runs', 'run-1', 'file'), ''),
};

async function main(): Promise<void> {
  const said: Record<string, string> = {};
  for (const [name, write] of Object.entries(writes)) {
    said[name] = await write().then(
      () => 'written',
      (error: { code?: string; type?: string }) => error.type ?? error.code ?? 'an error without a type',
    );
  }
  for (const { variable } of Object.values(PORTS)) process.env[variable] = String(await freePort());
  for (const home of [folder, join(folder, 'home')]) {
    process.env['WHET_HOME'] = home;
    for (const command of ['up', 'down']) {
      let text = '';
      const stream = { write: (part: string) => (text += part).length > 0 };
      await runCommandLine([command], { stdout: stream, stderr: stream });
      said[`${command} ${home === folder ? '' : 'in a folder to be made'}`.trim()] = text;
    }
  }
  process.stdout.write(`\n${JSON.stringify(said)}`);
}

void main();
