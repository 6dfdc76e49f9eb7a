// tier: integration
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { APIError } from 'openai';
import { discoverAnswerSchema, discoverMessages } from '../../../../activities/identify/prompts/discover';
import { labelMessages } from '../../../../activities/label-prompt/label-messages';
import { strictJsonSchema } from '../../../../llm';
import { toAnalystFailure } from '../../../../llm/errors';
import type { Candidate } from '../../../../contracts/artifacts/identification';
import type { ChatMessage, Trajectory } from '../../../../contracts/artifacts/trajectory';
import { type RuleBook, UnknownQuestionError } from '../../../../examples/shared/analyst/answers';
import { Journal } from '../../../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../../../examples/shared/analyst/server';
import { openWorldAnalyst } from '../../../../examples/shared/analyst/world-analyst';

const candidate: Candidate = { id: 'x', name: 'Check before a booking', summary: 's', description: 'd' };
const LABELS = `
def label(capability, turns):
    if any("raise" in turn.get("text", "") for turn in turns):
        raise ValueError("no rule for this")
    calls = [turn for turn in turns if "call" in turn]
    texts = [turn for turn in turns if turn["role"] == "assistant" and "text" in turn]
    if not calls:
        return "NA", 7, "nothing was called"
    if calls[0]["call"]["name"] == "check_room" and calls[0]["result"]["free"] and texts[-1]["text"] == "done":
        return "PRESENT", calls[0]["step"], f"{capability}: checked"
    return "LACKING", calls[0]["step"], "booked unchecked"
`;

let folder: string;
let analyst: RuleBook;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'whet-world-'));
  mkdirSync(join(folder, 'environments'));
  writeFileSync(join(folder, 'labels.py'), LABELS);
  writeFileSync(
    join(folder, 'capabilities.json'),
    JSON.stringify([{ id: 'check', name: candidate.name, summary: 's', description: 'd' }]),
  );
  for (const name of ['check.attempt-1.py', 'check.attempt-2.py', 'check.py'])
    writeFileSync(join(folder, 'environments', name), `class Environment: """${name}"""`);
  analyst = openWorldAnalyst(folder);
});

afterEach(() => {
  analyst.close?.();
  rmSync(folder, { recursive: true, force: true });
});

const call = (name: string, id: string): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: '{"room":"Oak"}' } }],
});
const episode = (opening: string, first = 'check_room'): ChatMessage[] => [
  { role: 'system', content: 'the rules\nof the house' },
  { role: 'user', content: opening },
  call(first, 'a'),
  { role: 'tool', content: '{"free":true}', tool_call_id: 'a' },
  { role: 'assistant', content: 'done' },
];
const ask = (messages: readonly { content: string }[]) => analyst.answer(messages.at(-1)!.content);
const labelOf = async (messages: ChatMessage[]) => (await ask(labelMessages(messages, candidate))).value;

test('rules see calls with their results, and texts, under the numbers of the prompt', async () => {
  expect(await labelOf(episode('book Oak'))).toEqual({ label: 'PRESENT', step: 2, reason: 'check: checked' });
  expect(await labelOf(episode('book Elm', 'book_room'))).toMatchObject({ label: 'LACKING', step: 2 });
  expect(await labelOf(episode('book Oak').slice(0, 2))).toMatchObject({ label: 'NA', step: null });
});

test('one label in twenty is another one, and the same episode gets the same label', async () => {
  const once = await Promise.all(Array.from({ length: 1000 }, (_, i) => labelOf(episode(`book room ${i}`))));
  const again = await Promise.all(Array.from({ length: 1000 }, (_, i) => labelOf(episode(`book room ${i}`))));
  expect(again).toEqual(once);
  const wrong = once.filter(({ label }) => label !== 'PRESENT');
  expect(wrong.length).toBeGreaterThan(30);
  expect(wrong.length).toBeLessThan(75);
  expect(new Set(wrong.map(({ label }) => label))).toEqual(new Set(['NA', 'LACKING']));
});

test('discovery gives the recorded name with the episodes that lack it, without noise', async () => {
  const failed = Array.from({ length: 60 }, (_, i) => ({
    messages: episode(`book room ${i}`, i % 2 === 0 ? 'book_room' : 'check_room'),
  })) as Trajectory[];
  const { value } = await ask(discoverMessages(failed, []));
  expect(value.capabilities).toEqual([
    {
      name: candidate.name,
      summary: 's',
      description: 'd',
      episodes: Array.from({ length: 30 }, (_, i) => 2 * i + 1),
      notTrainable: null,
    },
  ]);
});

test('an episode that succeeded shows nothing lacking', async () => {
  const shown = [true, false].map((success) => ({ messages: episode('book room 1', 'book_room'), success }));
  const { value } = await ask(discoverMessages(shown as Trajectory[], []));
  expect(value.capabilities).toMatchObject([{ episodes: [2] }]);
});

test('each rejection gets the environment that was recorded next', async () => {
  const asked = (rejected: number) =>
    analyst.answer(
      `# Capability\n${rejected === 0 ? '' : `# Attempt ${rejected} was rejected\n`}` +
        `\nWrite the environment for the capability "${candidate.name}".`,
    );
  const sources = await Promise.all([0, 1, 2, 3].map(async (n) => String((await asked(n)).value.source)));
  expect(sources.map((source) => /"""(.+)"""/.exec(source)?.[1])).toEqual([
    'check.attempt-1.py',
    'check.attempt-2.py',
    'check.py',
    'check.py',
  ]);
});

test('an environment that is kept as a patch is answered whole; one whose patch does not fit is refused', async () => {
  const environments = join(folder, 'environments');
  const patch = (was: string) =>
    `# Capability: check\n--- check.py\n+++ check.attempt-1.py\n@@ -1 +1 @@\n-${was}\n\\ No newline at end of file\n` +
    '+class Environment: """the patched one"""\n\\ No newline at end of file\n';
  rmSync(join(environments, 'check.attempt-1.py'));
  const asked = `\nWrite the environment for the capability "${candidate.name}".`;
  writeFileSync(join(environments, 'check.attempt-1.patch'), patch('class Environment: """check.py"""'));
  expect((await analyst.answer(asked)).value.source).toBe('class Environment: """the patched one"""');
  writeFileSync(join(environments, 'check.attempt-1.patch'), patch('class Environment: """another"""'));
  const refused = analyst.answer(asked);
  await expect(refused).rejects.toThrow(UnknownQuestionError);
  await expect(refused).rejects.toThrow(/^Correct .*check\.attempt-1\.patch: hunk 1 \(line 1 of check\.py\) does not/);
});

test('a rule that raises is no label but a question without an answer, with file, line and exception', async () => {
  const raised = labelOf(episode('please raise'));
  await expect(raised).rejects.toThrow(UnknownQuestionError);
  await expect(raised).rejects.toThrow(/^Correct .*labels\.py: line 4: .* raised ValueError: no rule for this$/);
  expect(await labelOf(episode('book Oak'))).toMatchObject({ label: 'PRESENT' });
});

test('rules that were corrected after they raised answer without a new start', async () => {
  await expect(labelOf(episode('please raise'))).rejects.toThrow(/ValueError/);
  writeFileSync(join(folder, 'labels.py'), 'def label(capability, turns): return "NA"');
  await expect(labelOf(episode('please raise'))).rejects.toThrow(/returned 'NA', not label, step and reason/);
  writeFileSync(join(folder, 'labels.py'), 'def label(:');
  await expect(labelOf(episode('please raise'))).rejects.toThrow(/returned 'NA'/);
  writeFileSync(join(folder, 'labels.py'), 'def label(capability, turns): return "NA", None, "corrected"');
  expect(await labelOf(episode('please raise'))).toMatchObject({ label: 'NA', step: null });
});

test('the analyst is named after who wrote its answers, as provenance.json says', () => {
  const write = (document: object) => writeFileSync(join(folder, 'provenance.json'), JSON.stringify(document));
  const named = () => {
    const opened = openWorldAnalyst(folder);
    opened.close?.();
    return opened.name;
  };
  expect(named()).toContain('(recorded answers, labels by rules');
  write({ model: 'large language model', prompts: {} });
  expect(named()).toContain('(recorded answers, labels by rules');
  write({ model: 'large language model', prompts: { discovery: 'ab' } });
  expect(named()).toContain('(recorded answers of a large language model, labels by rules');
  write({ model: 'Model X', prompts: { discovery: 'ab' } });
  expect(named()).toContain('(recorded answers of Model X, labels by rules');
});

test('rules that cannot be loaded fail every question instead of leaving it open', async () => {
  writeFileSync(join(folder, 'labels.py'), 'def label(:');
  const broken = openWorldAnalyst(folder);
  await expect(broken.ready).rejects.toThrow(/labels\.py ended with code 1/);
  await expect(broken.answer(labelMessages(episode('x'), candidate).at(-1)!.content)).rejects.toThrow(/ended with/);
});

test('the analyst ends where its files are wrong, and says which file, and where', () => {
  const start = () => {
    const main = resolve('dist/examples/shared/analyst/main.js');
    return spawnSync(process.execPath, [main, '--port', '0', '--assets', folder], {
      encoding: 'utf8',
      timeout: 60_000,
    });
  };
  writeFileSync(join(folder, 'labels.py'), 'def lable(capability, turns): pass');
  expect(start()).toMatchObject({ status: 1, stderr: expect.stringContaining('labels.py has no function label(') });
  const file = join(folder, 'capabilities.json');
  writeFileSync(file, '[{"id": "check", "name": 3]');
  expect(start()).toMatchObject({ status: 1, stderr: expect.stringMatching(`${file}: .*JSON at position 26`) });
  writeFileSync(file, '[{"id": "check", "name": 3}]');
  expect(start()).toMatchObject({ status: 1, stderr: expect.stringMatching(/capabilities\.json: .*at \[0\]\.name/s) });
});

test('a changed capabilities.json answers the next question; while it is wrong, questions are refused', async () => {
  const file = join(folder, 'capabilities.json');
  const asked = '\nWrite the environment for the capability "Juggle".';
  await expect(analyst.answer(asked)).rejects.toThrow(/does not know/);
  writeFileSync(file, '[{"id": "juggle"');
  await expect(analyst.answer(asked)).rejects.toThrow(UnknownQuestionError);
  await expect(analyst.answer(asked)).rejects.toThrow(`Correct ${file}: `);
  writeFileSync(file, JSON.stringify([{ id: 'check', name: 'Juggle', summary: 's', description: 'd' }]));
  expect((await analyst.answer(asked)).value).toMatchObject({ source: expect.stringContaining('check.attempt-1.py') });
});

test('prompts of discovery and synthesis are kept, answered or not; the same key asks once', async () => {
  const prompts = join(folder, 'prompts');
  const journal = new Journal(null);
  const app = createAnalystServer({ rules: analyst, journal, prompts });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const schema = strictJsonSchema(discoverAnswerSchema);
  const post = async (messages: object, key: string) => {
    const response_format = { type: 'json_schema', json_schema: { schema } };
    const response = await fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ model: analyst.model, messages, response_format }),
    });
    return { status: response.status, json: (await response.json()) as { error?: { code: string } } };
  };
  const asked = discoverMessages([{ messages: episode('book Oak', 'book_room') } as Trajectory], []);
  const answers = await Promise.all([post(asked, 'k'), post(asked, 'k')]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const unknown = await post([{ role: 'user', content: '\nWrite the environment for the capability "Juggle".' }], 'j');
  expect([unknown.status, unknown.json.error?.code]).toEqual([400, 'unknown_question']);
  expect(journal.stats).toMatchObject({ billedCalls: 1, replayed: 1, billedTwice: 0 });
  const kept = readdirSync(prompts).map((name) => readFileSync(join(prompts, name), 'utf8'));
  expect(kept).toHaveLength(2);
  expect(kept.some((text) => text.includes('book_room')) && kept.some((text) => text.includes('Juggle'))).toBe(true);
  await app.close();
});

test('a capability without a recorded environment is refused with the file to add, which a failure still quotes', async () => {
  const directory = join(folder, 'a'.repeat(60), 'analyst');
  mkdirSync(join(folder, 'a'.repeat(60)));
  for (const name of ['labels.py', 'capabilities.json', 'environments'])
    cpSync(join(folder, name), join(directory, name), { recursive: true });
  rmSync(join(directory, 'environments'), { recursive: true });
  const [known] = JSON.parse(readFileSync(join(directory, 'capabilities.json'), 'utf8'));
  const bare = openWorldAnalyst(directory);
  const refused = async (name: string) => {
    const error: Error = await bare.answer(`\nWrite the environment for the capability "${name}".`).then(
      () => new Error('it was answered'),
      (reason: Error) => reason,
    );
    expect(error).toBeInstanceOf(UnknownQuestionError);
    const answer = { error: { code: 'unknown_question', message: error.message } };
    const seen = APIError.generate(400, answer, undefined, new Headers());
    const failure = toAnalystFailure(seen, { endpoint: 'http://127.0.0.1:8301/v1', model: bare.model });
    expect(failure.message).not.toContain('analyst.model');
    return failure.message;
  };
  expect(await refused(known.name)).toContain(`Add ${join(directory, 'environments', `${known.id}.py`)}: no `);
  expect(await refused('Juggle')).toContain(
    `Add it to ${join(directory, 'capabilities.json')}, and write environments/ID.py`,
  );
  bare.close?.();
});
