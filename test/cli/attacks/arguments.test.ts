// tier: integration (a real Temporal server)
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { createProgram } from '../../../cli/program';
import { SEARCH_ATTRIBUTES } from '../../../contracts/names';
import { startTemporal } from '../../helpers/temporal';
import { writeSmallAgent } from '../small-agent';
import { expectPlain, expectRefused, type Said, whet } from './whet';

const folder = mkdtempSync(join(tmpdir(), 'whet-hostile-arguments-'));
const home = join(folder, 'a', 'b', 'home');
const before = { ...process.env };
let server: TestWorkflowEnvironment;
let agent: string;

beforeAll(async () => {
  mkdirSync(home, { recursive: true });
  agent = writeSmallAgent(folder);
  server = await startTemporal();
  for (const name of ['desk', 'other'])
    await server.client.workflow.start('improvementRun', {
      workflowId: `run-${name}-1`,
      taskQueue: 'whet-orchestration',
      args: [{}],
      memo: { agent: name },
      searchAttributes: { [SEARCH_ATTRIBUTES.agent]: [name] },
    });
  process.env['WHET_HOME'] = home;
  process.env['TEMPORAL_ADDRESS'] = server.address;
});
afterAll(async () => {
  process.env = before;
  await server?.teardown();
  rmSync(folder, { recursive: true, force: true });
});

/** Everything beside the state directory, which no argument may name. */
const outside = (): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => !path.startsWith('a/b/home'));

const expectError = ({ code, ...said }: Said): void => {
  expect([1, 2]).toContain(code);
  expectPlain({ code, ...said });
  expect(said.all).not.toBe('');
};

const NAMES: [string, string][] = [
  ['the folder above', '../../x'],
  ['two dots', '..'],
  ['a dot', '.'],
  ['an absolute path', '/etc/passwd'],
  ['nothing', ''],
  ['a blank', ' '],
  ['a NUL', 'run\0x'],
  ['a line feed', 'run\nwhet: done'],
  ['an escape', 'run\u001b[2J\u001b]52;c;AAAA\u0007'],
  ['a C1 control', 'run\u009b31m'],
  ['a direction mark', 'run\u202ednoces'],
  ['a line separator', 'run\u2028whet: done'],
  ['half a character', 'run\ud800'],
  ['a prototype', '__proto__'],
  ['a query', "run' OR WhetAgent = 'other"],
  ['a shell', '$(touch x);`touch x`|touch x'],
  ['10,000 letters', 'r'.repeat(10_000)],
  ['a format', '%s%n%x'],
];
const COMMANDS: ((name: string) => string[])[] = [
  (name) => ['status', name],
  (name) => ['why', name],
  (name) => ['report', name],
  (name) => ['cancel', name],
  (name) => ['approve', name],
  (name) => ['retry', name],
  (name) => ['skip', name, 'x'],
  (name) => ['repair', name, '--dry-run'],
  (name) => ['budget', name],
  (name) => ['budget', name, '--tokens', '5'],
  (name) => ['env', 'edit', name, 'x'],
  (name) => ['env', 'edit', 'run-desk-1', name],
  (name) => ['env', 'edit', 'run-nobody-1', 'x', name],
  (name) => ['promote', name, '1'],
  (name) => ['rollback', name],
  (name) => ['canary', name],
  (name) => ['canary', name, '1'],
  (name) => ['study', 'stability', name, '--runs', '2'],
  (name) => ['schedule', name, '--cron', '0 2 * * *'],
];

test.each(NAMES)('names: %s is an error of every command that takes a name, and leads nowhere', async (_what, name) => {
  const there = outside();
  for (const command of COMMANDS) {
    const argv = command(name);
    const said = await whet(...argv);
    expect({ argv: argv.map((word) => word.slice(0, 60)), code: said.code }).toMatchObject({
      code: expect.any(Number) as number,
    });
    if (argv[0] === 'canary' && argv.length === 2 && said.code === 0) continue;
    expectError(said);
    const json = await whet(...argv, '--json');
    expectPlain(json);
    expect((JSON.parse(json.stdout) as { error: { type: string } }).error.type).not.toBe('Cli.Unexpected');
  }
  expect(outside()).toEqual(there);
});

const LINES = ['x\nwhet: done', 'x\r\nwhet: done', '\nwhet: done', 'x\rwhet: done'];
test.each(LINES)('line feeds: %j is refused in every argument, and begins no line', async (text) => {
  for (const command of [
    ...COMMANDS,
    (name: string) => ['validate', name],
    (name: string) => ['run', name, '--dry-run'],
    (name: string) => ['ls', '--agent', name],
    (name: string) => ['history', name, '--html', name],
    (name: string) => ['lineage', name],
    (name: string) => ['env', 'check', name],
    (name: string) => ['env', 'run', name],
    (name: string) => ['schedule', 'pause', 'desk', '--note', name],
    (name: string) => ['schedule', 'desk', '--timezone', name, '--cron', name],
    (name: string) => ['gateway', '--config', name],
    (name: string) => ['worker', '--queues', name],
    (name: string) => [name],
    (name: string) => ['ls', `--${name}`],
  ]) {
    const said = await whet(...command(text));
    expect({ argv: command(text), code: said.code }).toEqual({ argv: command(text), code: 2 });
    expect(said.all).toMatch(/^whet: The argument ".*" has a line feed: write it in one line\.\n$/);
  }
});

test.each([
  ["x' OR WhetAgent = 'other", 'other'],
  ["x' OR WorkflowType = 'improvementRun", 'desk'],
  ['x" OR 1=1 --', 'desk'],
  ["' OR '' = '", 'desk'],
])('queries: `ls --agent` with %s lists no run of another agent', async (name) => {
  const said = await whet('ls', '--agent', name);
  expectPlain(said);
  expect(said.all).not.toMatch(/run-(desk|other)-1/);
});

const NUMBERS: string[][] = [
  ['ls', '--limit'],
  ['gc', '--dry-run', '--keep-runs'],
  ['gc', '--dry-run', '--keep-versions'],
  ['gc', '--dry-run', '--older-than'],
  ['budget', 'run-desk-1', '--usd'],
  ['budget', 'run-desk-1', '--tokens'],
  ['canary', 'desk', '1', '--share'],
  ['canary', 'desk', '1', '--false-rollback'],
  ['promote', 'desk'],
  ['canary', 'desk'],
  ['study', 'stability', 'desk', '--runs'],
  ['gateway', 'AGENT', '--port'],
  ['run', 'AGENT', '--dry-run', '--seed'],
  ['env', 'run', 'ENVIRONMENT', '--seed'],
  ['schedule', 'AGENT', '--cron', '0 2 * * *', '--jitter'],
  ['schedule', 'AGENT', '--cron', '0 2 * * *', '--catch-up'],
];
const NO_NUMBERS = [
  '',
  ' ',
  'x',
  'NaN',
  'Infinity',
  '1e400',
  '-1',
  '0x10',
  '1;2',
  '1,5',
  '\uff11',
  '9'.repeat(400),
  '1\n',
  '\u001b[2J',
];
test.each(NUMBERS)('numbers: `whet %s %s %s %s %s` refuses what is none', async (...words) => {
  const argv = words.map((word) => (word === 'AGENT' ? agent : word === 'ENVIRONMENT' ? join(folder, 'env.py') : word));
  for (const value of NO_NUMBERS) {
    const last = argv.at(-1)!;
    // A value that looks like an option is given with an equals sign.
    const given = last.startsWith('--') ? [...argv.slice(0, -1), `${last}=${value}`] : [...argv, '--', value];
    const { code, ...said } = await whet(...given);
    expect({ value, code, said: said.all }).toMatchObject({ value, code: 2 });
    expectPlain({ code, ...said });
  }
});

/** Every command with the words by which it is called. */
function commands(parent: Command, words: string[] = []): [string[], Command][] {
  const own = parent.commands.filter((command) => command.name() !== 'help');
  return own.flatMap((command) => [
    [[...words, command.name()], command] as [string[], Command],
    ...commands(command, [...words, command.name()]),
  ]);
}
const PROGRAM = commands(createProgram());

test.each(PROGRAM.map(([words, command]) => [words.join(' '), words, command] as const))(
  '--json: the usage errors of `whet %s` are documents',
  async (_name, words, command) => {
    const required = command.registeredArguments.filter(({ required: needed }) => needed).map(() => 'x');
    const wrong = [
      [...words, ...required, '--no-such-option'],
      [...words, ...required, '--json=x'],
      [...words, ...Array<string>(20).fill('x'), '--no-such-option\u001b[2J'],
    ];
    if (required.length > 0) wrong.push(words);
    for (const argv of wrong) {
      const said = await whet(...argv, '--json');
      expect({ argv, code: said.code }).toEqual({ argv, code: 2 });
      expect(said.stderr).toBe('');
      expect(JSON.parse(said.stdout)).toMatchObject({ error: { type: 'Cli.Usage' } });
      expectPlain(said);
    }
  },
);

const VARIABLES: [string, string[]][] = [
  ['WHET_MODEL_PORT', ['x', '0x50', '-1', '1e3', '70000', '80 80', '8.5', '\u001b[2J']],
  ['WHET_TEMPORAL_PORT', ['x', '99999', '-7233']],
  ['WHET_TEMPORAL_UI_PORT', ['x', '99999', '1.5']],
  ['WHET_ANALYST_PORT', ['x', '99999', 'NaN']],
  ['WHET_GATEWAY_PORT', ['x', '99999', 'Infinity']],
];
test.each(VARIABLES)('variables: %s', async (name, values) => {
  const kept = process.env[name];
  try {
    for (const value of values) {
      process.env[name] = value;
      await expectRefused(['ls'], new RegExp(name));
    }
  } finally {
    if (kept === undefined) delete process.env[name];
    else process.env[name] = kept;
  }
});

test.each([
  ['TEMPORAL_ADDRESS', 'http://evil.example'],
  ['TEMPORAL_ADDRESS', ':'],
  ['TEMPORAL_ADDRESS', 'a b'],
  ['TEMPORAL_ADDRESS', '127.0.0.1:99999'],
  ['TEMPORAL_NAMESPACE', '\u001b[2J'],
  ['TEMPORAL_NAMESPACE', '../x'],
  ['WHET_HOME', '/dev/null/home'],
  ['WHET_STORE', '/dev/null/store'],
  ['WHET_GC_OLDER_THAN', 'x'],
  ['WHET_GC_OLDER_THAN', '-1d'],
  ['WHET_GC_KEEP_RUNS', '1e400'],
  ['WHET_GC_KEEP_VERSIONS', '-1'],
])('variables: %s=%j is a sentence', async (name, value) => {
  const kept = process.env[name];
  process.env[name] = value;
  try {
    for (const argv of [['gc', '--dry-run'], ['promote', 'desk', '1'], ['ls']]) {
      const said = await whet(...argv);
      if (said.code !== 0) expectError(said);
      expectPlain(said);
    }
  } finally {
    if (kept === undefined) delete process.env[name];
    else process.env[name] = kept;
  }
});
