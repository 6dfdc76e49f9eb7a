/**
 * Measures `whet ingest` as a process: spans a second and its memory, what it reads of each format's files, whether
 * mutated lines or broken files end it, and whether kills lose or double anything. The last line is JSON.
 *
 *     node dist/bench/ingest.js [--spans 1000000] [--lines 10000] [--files 200] [--kills 20] [--seed 1]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../activities/statistics/random';
import { projectRoot } from '../contracts/project-root';
import { ingestedConversations, ingestedOutcomes, LocalStore } from '../store';
import { linesBelow, mutated, writeBroken } from './ingest/broken-input';
import { type IngestRun, runIngest } from './ingest/run-ingest';
import { writeSpans } from './ingest/write-spans';
import { wholeNumberOptions } from './shared/whole-numbers';

const DEFAULTS = { spans: 1_000_000, lines: 10_000, files: 200, kills: 20, seed: 1 };
const FORMATS = ['otlp', 'langfuse', 'langsmith', 'openai', 'anthropic', 'atif', 'tau2', 'verifiers'];
const FIXTURES = join(projectRoot(), 'test/fixtures/traces');
/** Spans of the file whose ingest is killed. */
const KILLED_SPANS = 40_000;

/** Lines in a store, and how many different conversations and outcomes they name. */
async function linesIn(path: string) {
  const store = new LocalStore(path);
  const [conversations, outcomes] = [new Set<string>(), new Set<string>()];
  let lines = 0;
  for await (const file of ingestedConversations(store, 'bench'))
    for (const line of file.lines) {
      lines++;
      conversations.add(line?.id ?? '');
    }
  for await (const file of ingestedOutcomes(store, 'bench'))
    for (const line of file.lines) {
      lines++;
      outcomes.add(line?.conversation ?? '');
    }
  return { named: conversations.size + outcomes.size, doubled: lines - conversations.size - outcomes.size };
}

/** Kills an ingest at random moments, lets the last one end, and compares the store with that of an undisturbed one. */
async function measureKills(folder: string, kills: number, random: () => number) {
  const file = join(folder, 'killed.jsonl');
  await writeSpans(file, KILLED_SPANS);
  const whole = await runIngest(join(folder, 'whole'), [file]);
  let killed = 0;
  for (let kill = 0; kill < kills; kill++) {
    const { code } = await runIngest(join(folder, 'killed'), [file], random() * whole.seconds * 1_100);
    if (code === null) killed++;
  }
  await runIngest(join(folder, 'killed'), [file]);
  const [expected, found] = [await linesIn(join(folder, 'whole')), await linesIn(join(folder, 'killed'))];
  return { killed, lost: expected.named - found.named, doubled: found.doubled };
}

/** Records that were read, with those and the files that were left out because they are of no format. */
const countedIn = ({ result }: IngestRun): number =>
  (result?.formats ?? []).reduce(
    (sum, { format, records, leftOut }) =>
      sum + records + (format === null ? leftOut.reduce((all, { count }) => all + count, 0) : 0),
    0,
  );

async function main(): Promise<void> {
  const options = wholeNumberOptions(DEFAULTS);
  const random = seededRandom(options.seed);
  const folder = mkdtempSync(join(tmpdir(), 'whet-bench-ingest-'));
  try {
    const formats: Record<string, { files: number; conversations: number; leftOut: number }> = {};
    for (const name of FORMATS) {
      const { result } = await runIngest(join(folder, `store-${name}`), [join(FIXTURES, name)]);
      const counts = result?.formats.find(({ format }) => format === name);
      const leftOut = result?.formats.flatMap((one) => one.leftOut).reduce((sum, { count }) => sum + count, 0);
      formats[name] = { files: counts?.files ?? 0, conversations: counts?.conversations ?? 0, leftOut: leftOut ?? 0 };
      console.log(name, formats[name]);
    }
    const lines = linesBelow(FIXTURES);
    const damaged = join(folder, 'mutated.jsonl');
    const some = Array.from({ length: options.lines }, (_, i) => mutated(lines[i % lines.length] as Buffer, random));
    writeFileSync(damaged, some.map((line) => `${line.toString('latin1')}\n`).join(''), 'latin1');
    const mutatedRun = await runIngest(join(folder, 'store-mutated'), [damaged]);
    writeBroken(join(folder, 'broken'), options.files, lines, random);
    const brokenRun = await runIngest(join(folder, 'store-broken'), [join(folder, 'broken')]);
    console.log('mutated', countedIn(mutatedRun), 'broken', countedIn(brokenRun));
    const kills = await measureKills(folder, options.kills, random);
    console.log('kills', kills);
    const spans = join(folder, 'spans.jsonl');
    const traces = await writeSpans(spans, options.spans);
    const large = await runIngest(join(folder, 'store-spans'), [spans]);
    const again = await runIngest(join(folder, 'store-spans'), [spans]);
    const counts = large.result?.formats[0];
    console.log(
      JSON.stringify({
        name: 'ingest',
        spansPerSecond: Math.round(options.spans / large.seconds),
        peakMb: Math.round(Math.max(large.peakMb, again.peakMb)),
        spans: { conversations: counts?.conversations, expected: traces, withOutcome: counts?.withOutcome },
        again: { added: again.result?.formats[0]?.added, outcomes: again.result?.outcomes },
        formats,
        // Short lines may have been mutated to nothing.
        mutated: {
          lines: some.filter(({ length }) => length > 0).length,
          exitCode: mutatedRun.code,
          counted: countedIn(mutatedRun),
        },
        broken: { files: options.files, exitCode: brokenRun.code, counted: countedIn(brokenRun) },
        kills,
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
