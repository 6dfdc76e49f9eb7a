// A process on a disk of its own with 256 KiB: fills it, tries all that the store writes, and prints what came of it.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFile, LocalStore, replaceFile } from '../../store';

async function main(root: string): Promise<void> {
  const store = new LocalStore(root);
  const big = 'x'.repeat(20_000);
  const version = await store.swapDocument('kept.json', 'kept', null);
  await replaceFile(join(root, 'kept.txt'), 'kept');
  const segment = store.segment('work.jsonl');
  await segment.append('kept');
  await store.put('art', 'kept.txt', 'kept');
  const before = filesOf(root);
  fill(join(root, 'filling'));
  const trials: Record<string, () => Promise<unknown>> = {
    'a change of a document': () => store.swapDocument('kept.json', big, version),
    'a new document': () => store.swapDocument('new.json', big, null),
    'an artifact': () => store.put('art', 'artifact.txt', big),
    'an artifact in parts': () => store.putParts('art', 'parts.txt', [big, big]),
    'a replaced file': () => replaceFile(join(root, 'kept.txt'), big),
    'a created file': () => createFile(join(root, 'created.txt'), big),
    'a segment': () => segment.append(big),
  };
  const failures: Record<string, unknown> = {};
  for (const [what, trial] of Object.entries(trials))
    failures[what] = await trial().then(
      () => 'written',
      ({ type, message }: { type: string; message: string }) => `${type}: ${message}`,
    );
  rmSync(join(root, 'filling'));
  const after = filesOf(root);
  await store.swapDocument('kept.json', 'changed', version);
  await segment.append('after');
  await segment.close();
  process.stdout.write(
    JSON.stringify({
      failures,
      leftovers: after.filter((name) => !before.includes(name)),
      kept: readFileSync(join(root, 'kept.txt'), 'utf8'),
      changed: (await store.readDocument('kept.json'))?.value,
      segment: readFileSync(join(root, 'work.jsonl'), 'utf8'),
    }),
  );
}

const filesOf = (root: string) => (readdirSync(root, { recursive: true }) as string[]).sort();

/** Leaves less than a page. */
function fill(path: string): void {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(4096), { flag: 'a' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

void main(process.argv[2] as string);
