// tier: integration
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommandLine } from '../../../cli/run-command-line';
import { readAgent } from '../../../cli/agent';
import { scheduleOptions } from '../../../cli/commands/schedule';
import type { Conversation, Outcome } from '../../../contracts/artifacts/conversation';
import { layout, LocalStore, putLines } from '../../../store';

const folder = mkdtempSync(join(tmpdir(), 'whet-conversations-'));
const path = join(folder, 'agent.yaml');
const at = '2026-11-01T00:00:00.000Z';
const before = { ...process.env };

beforeAll(async () => {
  writeFileSync(path, 'version: 1\nname: desk\nenvironment: { kind: traces }\n');
  for (const name of ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'TEMPORAL_ADDRESS']) delete process.env[name];
  process.env['WHET_HOME'] = join(folder, 'home');
  mkdirSync(join(folder, 'home'));
  const store = new LocalStore(join(folder, 'home', 'store'));
  const ids = Array.from({ length: 50 }, (_, i) => `c${i}`);
  const conversations = ids.map((id): Conversation => ({
    ...{ id, format: 'openai', model: null, startedAt: null, at },
    messages: [{ role: 'user', content: id.repeat(1000) }],
  }));
  await putLines(store, layout.ingestedConversations('desk'), 'conversations.jsonl', conversations);
  const outcomes = ids.slice(0, 44).map((id, i): Outcome => ({
    ...{ conversation: id, success: i < 40, reward: i < 40 ? 1 : 0, from: 'trace', at },
  }));
  await putLines(store, layout.ingestedOutcomes('desk'), 'outcomes.jsonl', outcomes);
});
afterAll(() => {
  process.env = before;
  rmSync(folder, { recursive: true });
});

async function whet(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const said = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => Boolean((said[name] += text)) });
  const printed = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => Boolean((said.stdout += String(text))));
  try {
    const code = await runCommandLine(words, { stdout: stream('stdout'), stderr: stream('stderr') });
    return { code, ...said };
  } finally {
    printed.mockRestore();
  }
}

test('validate says what works on conversations, and how many are missing', async () => {
  const { code, stdout } = await whet('validate', path);
  expect(stdout).toContain(`${path}: valid (agent desk, 44 conversations with an outcome)`);
  expect(stdout).toContain('A run on it ends after identification: add --until identify.');
  expect(stdout).toMatch(/40 successes, 4 failures\. .*: 16 failures more\..*6 further conversations have no outcome/);
  expect(code).toBe(0);
});

test.each([
  ['run', path],
  ['run', path, '--dry-run'],
  ['demo', path],
  ['env', 'check', join(__dirname, '../../activities/fixtures/parcel_desk.py'), '--agent', path],
  ['env', 'tasks', path],
  ['env', 'run', path],
  ['gateway', path],
])('what plays is refused, with what to add: whet %s', async (...words) => {
  const { code, stderr } = await whet(...words);
  expect(stderr).toContain(`${path}: environment: is a set of conversations, so nothing can be played.`);
  expect(code).toBe(2);
});

test('a dry run counts the conversations and their length, and no rollouts', async () => {
  const { code, stdout } = await whet('run', path, '--until', 'identify', '--dry-run', '--json');
  const { stages, minimumDetectableGain, basis } = JSON.parse(stdout) as {
    stages: { what: string; calls: number; promptTokens: number }[];
    minimumDetectableGain: number | null;
    basis: string;
  };
  expect(stages.map(({ what }) => what)).toEqual(['discovery', 'labels, 10 runs, at most']);
  const [, labels] = stages;
  expect(labels!.calls).toBe(44 * 10 * 10);
  // 2 or 3 characters a thousand times are 500 or 750 tokens, and the question around them has some.
  expect(labels!.promptTokens / labels!.calls).toBeGreaterThan(900);
  expect(labels!.promptTokens / labels!.calls).toBeLessThan(1300);
  expect([minimumDetectableGain, basis]).toEqual([null, expect.stringContaining('four characters')]);
  expect(code).toBe(0);
});

test('a night on conversations is a diagnosis', () => {
  const options = scheduleOptions(readAgent(path), { cron: '0 3 * * *', jitter: '0s', catchUp: '1h', timezone: 'UTC' });
  expect(options.action).toMatchObject({ args: [{ until: 'identify' }] });
});
