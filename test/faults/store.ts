/**
 * `test/faults/store [--updates N] [--gigabytes N]`: six processes change one document while they are killed and
 * stopped at random; a segment is appended to on a disk that is full again and again; a large segment with torn lines
 * is read. Prints a table, and a line of JSON at the end. Exit code 1 when anything acknowledged is lost, a line is
 * damaged, or reading takes 300 MB or more.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { table } from '../../cli/output';
import { LocalStore } from '../../store';
import type { Counts } from './store-process';

const PROCESSES = 6;
/** Longer than the ten seconds after which a lock was once taken over. */
const STOP_MS = 11_000;
const LEAST_STOPS = 4;
const LINE_BYTES = 64 << 10;
const MAX_RSS_BYTES = 300e6;
/** The other program, compiled or not as this one is. */
const PROGRAM = join(__dirname, `store-process${__filename.slice(-3)}`);

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Processes that change one document, of which now and then one is killed and started again, and one is stopped. */
async function disturbWriters(folder: string, updates: number) {
  mkdirSync(join(folder, 'acknowledged'));
  const acknowledgedBy = (slot: number) => sizeOf(join(folder, 'acknowledged', String(slot)));
  const slots = Array.from({ length: PROCESSES }, (_, slot) => slot);
  const acknowledged = () => slots.reduce((sum, slot) => sum + acknowledgedBy(slot), 0);
  const start = (slot: number): ChildProcess => fork(PROGRAM, ['writer', folder, String(slot)]);
  const writers = slots.map(start);
  const killed = slots.map(() => 0);
  const stopped = new Set<number>();
  let stops = 0;
  let isDone = false;
  const stopOne = async () => {
    for (; !isDone; stops++) {
      const slot = Math.floor(Math.random() * PROCESSES);
      stopped.add(slot);
      writers[slot]?.kill('SIGSTOP');
      await sleep(STOP_MS);
      writers[slot]?.kill('SIGCONT');
      stopped.delete(slot);
      await sleep(Math.random() * 500);
    }
  };
  const startedAt = Date.now();
  const stopping = stopOne();
  while (acknowledged() < updates || stops < LEAST_STOPS) {
    await sleep(200 + Math.random() * 600);
    const slot = Math.floor(Math.random() * PROCESSES);
    const writer = writers[slot];
    if (writer === undefined || stopped.has(slot)) continue;
    writer.kill('SIGKILL');
    if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
    if (writer.signalCode !== 'SIGKILL')
      throw new Error(`A writer ended by itself, with exit code ${writer.exitCode}.`);
    killed[slot] = (killed[slot] ?? 0) + 1;
    writers[slot] = start(slot);
  }
  isDone = true;
  await stopping;
  await Promise.all(
    writers.map(async (writer) => {
      writer.kill('SIGKILL');
      if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
    }),
  );
  const seconds = (Date.now() - startedAt) / 1_000;
  const counts = ((await new LocalStore(folder).readDocument('count.json'))?.value ?? {}) as Counts;
  let [lost, twice] = [0, 0];
  for (const slot of slots) {
    const written = counts[slot] ?? 0;
    lost += Math.max(0, acknowledgedBy(slot) - written);
    // A writer that is killed may have written what it could not acknowledge any more, once for each kill.
    twice += Math.max(0, written - acknowledgedBy(slot) - (killed[slot] ?? 0) - 1);
  }
  const kills = killed.reduce((sum, count) => sum + count, 0);
  return { updates: acknowledged(), kills, stops, lostUpdates: lost, updatesWrittenTwice: twice, seconds };
}

/** Runs a role of the other program to its end, and returns the JSON that it prints. */
function run<T>(role: string, folder: string, command: readonly string[] = []): T {
  const [program = process.execPath, ...rest] = [...command, process.execPath];
  const result = spawnSync(program, [...rest, ...process.execArgv, PROGRAM, role, folder], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (result.status !== 0) throw new Error(`${role} ended with exit code ${result.status}.`);
  return JSON.parse(result.stdout) as T;
}

interface FullDisk {
  acknowledgedLines: number;
  refusedLines: number;
  lostLines: number;
  damagedLines: number;
}

function appendOnFullDisk(folder: string): FullDisk {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const mount = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"';
  return run('appender', disk, ['unshare', '--map-root-user', '--mount', 'sh', '-c', mount, disk]);
}

interface LargeSegment {
  lines: number;
  damagedLines: number;
  maxRssBytes: number;
  seconds: number;
}

/** Writes a segment in which each thousandth line is torn, and lets another process read it. */
function readLarge(folder: string, gigabytes: number): LargeSegment & { tornLines: number; gigabytes: number } {
  const line = (text: string) => `${JSON.stringify({ text })}\n`;
  const whole = line('x'.repeat(LINE_BYTES));
  const block = Buffer.from(whole.repeat(100));
  const file = openSync(join(folder, 'large.jsonl'), 'w');
  const blocks = Math.ceil((gigabytes * 1e9) / block.length);
  let tornLines = 0;
  for (let i = 0; i < blocks; i++) {
    writeSync(file, block);
    if (i % 10 === 0) {
      writeSync(file, `${whole.slice(0, 1_000)}\n`);
      tornLines++;
    }
  }
  closeSync(file);
  const read = run<LargeSegment>('reader', folder);
  if (read.lines !== blocks * 100) throw new Error(`${read.lines} lines were read of ${blocks * 100}.`);
  return { ...read, tornLines, gigabytes };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      updates: { type: 'string', default: '10000' },
      gigabytes: { type: 'string', default: '5' },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'whet-faults-store-'));
  try {
    const documents = await disturbWriters(folder, Number(values.updates));
    const segment = appendOnFullDisk(folder);
    const large = readLarge(folder, Number(values.gigabytes));
    const rows = [
      ['acknowledged updates of a document', documents.updates],
      ['  writers killed', documents.kills],
      [`  writers stopped for ${STOP_MS / 1_000} s`, documents.stops],
      ['  acknowledged updates lost', documents.lostUpdates],
      ['  updates written twice', documents.updatesWrittenTwice],
      ['lines appended to a segment', segment.acknowledgedLines],
      ['  refused by a full disk', segment.refusedLines],
      ['  appended lines lost', segment.lostLines],
      ['  damaged lines', segment.damagedLines],
      [`lines read of ${large.gigabytes} GB`, large.lines],
      ['  torn lines set aside', `${large.damagedLines} of ${large.tornLines}`],
      ['  peak memory of the reader', `${Math.round(large.maxRssBytes / 1e6)} MB`],
      ['  seconds', Math.round(large.seconds)],
    ];
    const holds =
      documents.lostUpdates + documents.updatesWrittenTwice + segment.lostLines + segment.damagedLines === 0 &&
      large.damagedLines === large.tornLines &&
      large.maxRssBytes < MAX_RSS_BYTES;
    console.log(
      table(
        rows.map((row) => row.map(String)),
        [1],
      ),
    );
    console.log(JSON.stringify({ holds, documents, segment, large }));
    return holds ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

void main().then((code) => (process.exitCode = code));
