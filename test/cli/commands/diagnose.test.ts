// tier: integration
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommandLine } from '../../../cli/run-command-line';
import { lockAddress, tryLock } from '../../../cli/supervisor/kernel-lock';

const folder = mkdtempSync(join(tmpdir(), 'whet-diagnose-'));
const home = join(folder, 'home');
const before = { ...process.env };
const VARIABLES = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'WHET_ANALYST_MODEL', 'TEMPORAL_ADDRESS', 'WHET_STORE'];

beforeEach(() => {
  for (const name of VARIABLES) delete process.env[name];
  process.env['WHET_HOME'] = home;
});
afterAll(() => {
  process.env = before;
  rmSync(folder, { recursive: true });
});

/** Writes conversations in OpenAI's format, of which the first are successes. */
function written(name: string, successes: number, failures: number): string {
  const path = join(folder, name);
  const lines = Array.from({ length: successes + failures }, (_, i) => ({
    id: `c${i}`,
    messages: [
      { role: 'user', content: `question ${i}` },
      { role: 'assistant', content: 'answer' },
    ],
    metadata: { success: i < successes },
  }));
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'));
  return path;
}

async function diagnose(...words: string[]) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => Boolean((said[name] += text)) });
  const printed = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => Boolean((said.stdout += String(text))));
  try {
    const code = await runCommandLine(['diagnose', ...words], { stdout: stream('stdout'), stderr: stream('stderr') });
    return { code, ...said };
  } finally {
    printed.mockRestore();
    // Nothing of this file starts a service.
    expect(existsSync(join(home, 'supervisor.json'))).toBe(false);
  }
}

test('without an analyst it says what to set, and the conversations are stored all the same', async () => {
  const { code, stdout, stderr } = await diagnose(written('enough.jsonl', 30, 30));
  expect(stdout).toContain('enough: 60 conversations in 1 file: 60 new, 0 stored before; 60 new outcomes.');
  expect(stderr).toMatch(/There is no analyst: set OPENAI_API_KEY .* and WHET_ANALYST_MODEL\..*--analyst demo/);
  expect(code).toBe(2);
  process.env['OPENAI_API_KEY'] = 'key';
  expect((await diagnose(written('enough.jsonl', 30, 30))).stderr).toContain(
    'set WHET_ANALYST_MODEL, or analyst.model',
  );
});

test('it says what it may cost, and asks for more than the limit', async () => {
  Object.assign(process.env, { OPENAI_API_KEY: 'key', WHET_ANALYST_MODEL: 'm' });
  const { code, stdout, stderr } = await diagnose(written('enough.jsonl', 30, 30));
  expect(stdout).toMatch(/60 conversations .* 0 new, 60 stored before/);
  expect(stdout).toMatch(/The analyst: at most [\d,]+ tokens\. Most diagnoses need a small part/);
  expect(stderr).toMatch(/no price is known, and there is no terminal to ask in: give --yes, or set analyst\.price/);
  expect(code).toBe(2);
  const agent = join(home, 'diagnose', 'enough', 'agent.yaml');
  writeFileSync(
    agent,
    'version: 1\nname: enough\nenvironment: { kind: traces }\n' +
      'analyst: { pricePerMillionInput: 10, pricePerMillionOutput: 30 }\n',
  );
  const priced = await diagnose(written('enough.jsonl', 30, 30), '--max-usd', '2');
  expect(priced.stdout).toMatch(/at most [\d,]+ tokens, \$\d+\.\d\d\./);
  expect(priced.stderr).toMatch(/more than \$2, .* give --max-usd \d+, or --yes/);
});

test('too few of an outcome are refused before anything is paid, with the number that is missing', async () => {
  const { code, stderr } = await diagnose(written('few.jsonl', 30, 5), '--analyst', 'demo', '--agent', 'other');
  expect(stderr).toContain('30 successes, 5 failures. Contrasting them needs at least 20 of each: 15 failures more.');
  expect(code).toBe(2);
});

test('a second one waits for the first: it would end its run, or lose its services', async () => {
  const first = (await tryLock(lockAddress('diagnose', home)))!;
  const second = diagnose(written('enough.jsonl', 30, 30));
  const said = () => jest.mocked(process.stdout.write).mock.calls.flat().join('');
  while (!said().includes('diagnoses conversations here')) await sleep(10);
  expect(said()).toBe(`Waiting for process ${process.pid}, which diagnoses conversations here.\n`);
  await first.release();
  expect((await second).stderr).toContain('There is no analyst');
});

test.each([
  [['--agent', 'No Name'], /--agent "No Name": must be lower-case letters/],
  [['--analyst', folder], /has no recorded answers\. Allowed: demo, or a folder with some/],
  [['--max-usd', 'much'], /max-usd/],
])('a wrong flag is refused: %j', async (flags, message) => {
  const { code, stderr } = await diagnose(written('enough.jsonl', 30, 30), ...flags);
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test('a file whose name is no agent needs --agent: otherwise all such files were one agent', async () => {
  const { code, stdout, stderr } = await diagnose(written('2026-11-29.jsonl', 30, 30));
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/--agent: has to be given, because .*2026-11-29\.jsonl gives no name/);
});

test('an agent.yaml that somebody gave an environment that is played is refused', async () => {
  await diagnose(written('played.jsonl', 30, 30));
  const ranges = 'trainSeeds: { start: 0, count: 2 }, heldOutSeeds: { start: 9, count: 2 }';
  writeFileSync(join(home, 'diagnose', 'played', 'env.py'), '');
  writeFileSync(
    join(home, 'diagnose', 'played', 'agent.yaml'),
    `version: 1\nname: played\nenvironment: { path: env.py, ${ranges} }\nmodel: { name: m, path: m }\n`,
  );
  const { code, stderr } = await diagnose(written('played.jsonl', 30, 30));
  expect(stderr).toContain('environment: has to be a set of conversations.');
  expect(code).toBe(2);
});
