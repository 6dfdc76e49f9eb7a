// integration: `whet ingest` and `whet forget` with files of other tools and a store of their own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { forgetCommand } from '../../../cli/commands/forget';
import { ingestCommand, type IngestFlags } from '../../../cli/commands/ingest';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import { readIngested } from '../../../store';
import { fixture } from '../../ingest/ingested';
import { temporaryStore } from '../../store/temporary-store';

const { folder, store } = temporaryStore();
const context = (json: boolean) => {
  const printed: string[] = [];
  const out = createOutput(json, { write: (text: string) => printed.push(text) > 0 });
  return { context: { settings: readSettings({ WHET_STORE: folder }), out }, printed };
};
async function ingest(files: string[], flags: Partial<IngestFlags> = {}, json = false): Promise<string> {
  const { context: given, printed } = context(json);
  await ingestCommand(given, files, { agent: 'desk', ...flags });
  return printed.join('');
}
const log = fixture('openai/log.jsonl');

it('says for each format what it found, what is without an outcome and what was left out', async () => {
  const text = await ingest([log, fixture('openai/batch-output.jsonl'), fixture('atif')], { agent: 'words' });
  expect(text).toContain('words: 5 conversations in 3 files: 5 new, 0 stored before; 1 new outcome.');
  expect(text).toMatch(/^openai +2 +4 +4 +1 +3 +1$/m);
  expect(text).toMatch(/^atif +1 +1 +1 +0 +1 +0$/m);
  expect(text).toMatch(/^ {2}1 x the request failed, so that there is no answer \(.*batch-output\.jsonl:4\)$/m);
  expect(text).toContain("\nOutcomes were read from 'feedback' of the traces (1).\n");
  expect(text).toContain('Conversations without an outcome show nothing: give --outcomes FILE, or --pass');
});

it('prints the same with --json', async () => {
  expect(JSON.parse(await ingest([log], { agent: 'json' }, true))).toMatchObject({
    ...{
      agent: 'json',
      files: 1,
      outcomes: 1,
      decidedBy: [{ name: 'feedback', from: 'trace', count: 1 }],
      noOutcome: [],
      rejected: null,
    },
    formats: [
      { format: 'openai', conversations: 1, added: 1, known: 0, withOutcome: 1, withoutOutcome: 0, leftOut: [] },
    ],
  });
});

it.each<[string, string[], Partial<IngestFlags>]>([
  ['--agent "Desk"', [log], { agent: 'Desk' }],
  ['--pass "stars"', [log], { pass: 'stars' }],
  ['--redact "names"', [log], { redact: 'email,names' }],
  ['no-such-file', ['no-such-file'], {}],
  ['no-outcomes', [log], { outcomes: 'no-outcomes' }],
])('refuses %s, and stores nothing', async (named, files, flags) => {
  await expect(ingest(files, { agent: 'refused', ...flags })).rejects.toMatchObject({
    message: expect.stringContaining(named),
    exitCode: 2,
  });
  expect(await store.list('ingested/refused')).toEqual([]);
});

it('keeps an answer that would act on a terminal from doing so', async () => {
  const path = join(folder, 'hostile.jsonl');
  writeFileSync(
    path,
    '{"id": "a", "messages": [{"role": "user", "content": "x"}], "outcome": "\\u001b]0;gone\\u0007"}\n',
  );
  expect(await ingest([path], { agent: 'hostile' })).not.toContain('\u001b');
});

it('forgets one conversation, whatever its id, and leaves the others', async () => {
  const agent = 'forgetful';
  await ingest([log, fixture('verifiers/traces.jsonl')], { agent });
  const forget = (conversation: string) => forgetCommand(context(true).context, { agent, conversation });
  await forget('episode-1');
  const { counts, trajectories } = await readIngested(store, agent);
  expect([counts, trajectories.length]).toEqual([{ conversations: 1, withoutOutcome: 0, unreadable: 0 }, 1]);
  await expect(forget('episode-1')).rejects.toMatchObject({ exitCode: 2 });
});

it.each([
  ['a folder', () => folder, 'must be a file'],
  ['a damaged .gz file', () => damagedFile(), 'must be readable: the .gz file is damaged'],
])('refuses %s as --outcomes before anything is stored', async (_, outcomes, words) => {
  await expect(ingest([log], { agent: 'outcomes', outcomes: outcomes() })).rejects.toMatchObject({
    message: expect.stringContaining(words) as unknown,
    exitCode: 2,
  });
  expect((await readIngested(store, 'outcomes')).counts.conversations).toBe(0);
});

function damagedFile(): string {
  const path = join(folder, 'outcomes.csv.gz');
  writeFileSync(path, gzipSync('id,outcome\nc1,pass\n'.repeat(1000)).subarray(0, 60));
  return path;
}
