/** The processes of `test/faults/store`: `store-process ROLE FOLDER [SLOT]`. */
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { changeDocument, LocalStore, readSegment } from '../../store';

/** By slot: how many updates of its processes the document has. */
export type Counts = Record<string, number>;

const ROUNDS_ON_FULL_DISK = 200;

/** Adds one to its own count again and again. Each update that is acknowledged becomes a byte of a file. */
async function write(folder: string, slot: string): Promise<void> {
  const store = new LocalStore(folder);
  const acknowledged = join(folder, 'acknowledged', slot);
  for (;;) {
    await changeDocument(store, 'count.json', (before) => {
      const counts = (before ?? {}) as Counts;
      return { value: { ...counts, [slot]: (counts[slot] ?? 0) + 1 }, result: null };
    });
    appendFileSync(acknowledged, '.');
  }
}

/** Appends lines to a segment, several at once, on a disk that is full every other round. */
async function append(folder: string): Promise<unknown> {
  const store = new LocalStore(folder);
  const filling = join(folder, 'filling');
  const acknowledged = new Set<number>();
  let refusedLines = 0;
  let n = 0;
  let segment = store.segment('work.jsonl');
  for (let round = 0; round < ROUNDS_ON_FULL_DISK; round++) {
    if (round % 2 === 1) fill(filling);
    const appends = Array.from({ length: 8 }, async () => {
      const id = n++;
      // Lines of all lengths, so that the disk is full in the middle of one of them.
      const text = 'x'.repeat(Math.floor(Math.random() * 200));
      try {
        await segment.append({ id, text });
        acknowledged.add(id);
      } catch {
        refusedLines++;
      }
    });
    await Promise.all(appends);
    rmSync(filling, { force: true });
    if (round % 20 === 19) {
      await segment.close();
      segment = store.segment('work.jsonl');
    }
  }
  await segment.close();
  const { values, damaged } = await readSegment(segment, z.object({ id: z.number() }));
  const read = new Set(values.map(({ id }) => id));
  return {
    acknowledgedLines: acknowledged.size,
    refusedLines,
    lostLines: [...acknowledged].filter((id) => !read.has(id)).length,
    damagedLines: damaged.count,
  };
}

function fill(path: string): void {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(1024), { flag: 'a' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

async function read(folder: string): Promise<unknown> {
  const startedAt = Date.now();
  const reading = new LocalStore(folder).segment('large.jsonl').read(z.object({ text: z.string() }));
  let lines = 0;
  for await (const _ of reading) lines++;
  return {
    lines,
    damagedLines: reading.damaged.count,
    maxRssBytes: process.resourceUsage().maxRSS * 1024,
    seconds: (Date.now() - startedAt) / 1_000,
  };
}

async function main([role, folder = '', slot = '0']: string[]): Promise<void> {
  if (role === 'writer') await write(folder, slot);
  else process.stdout.write(JSON.stringify(role === 'appender' ? await append(folder) : await read(folder)));
}

void main(process.argv.slice(2));
