// tier: jail (the built command in a process of its own, real jail; no services).
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { initCommand } from '../../../cli/commands/init';
import { starterFiles } from '../../../cli/init/starter-files';
import { benchmarks } from '../../../contracts/config/environment-kinds';
import { moduleKind } from '../../../contracts/config/environment-kinds/module';
import { projectRoot } from '../../../contracts/project-root';
import { loadAgentSpec } from '../../../loaders/agent-spec';

const EXAMPLES = join(projectRoot(), 'examples');
const MODEL = ['--base-url', 'http://127.0.0.1:8000/v1', '--model', 'qwen3-4b', '--model-path', '/models/Qwen3-4B'];

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'whet-init-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Nobody can answer: standard input is no terminal. */
const whet = (args: string[], cwd = folder) =>
  spawnSync(process.execPath, [join(projectRoot(), 'dist/cli/main.js'), ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, OPENAI_API_KEY: '', OPENAI_BASE_URL: '', WHET_HOME: join(folder, '.whetstone') },
  });
const init = (...args: string[]) => whet(['init', ...args]);

/** What is in the folder besides the state of `whet`. */
const written = () => readdirSync(folder).filter((name) => name !== '.whetstone');
const filesOf = (path: string): Map<string, string> =>
  new Map(
    readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }): [string, string] => [name, readFileSync(join(path, name), 'utf8')])
      .sort(),
  );

test.each([
  ['smallest', 'parcels', '--gateway'],
  ['smallest-program', 'parcels-program', '--program'],
])('examples/%s is what whet init %s %s writes', (example, name, flag) => {
  const { status, stdout } = init(name, flag, ...MODEL, '--json');
  expect(status).toBe(0);
  const files = filesOf(join(folder, name));
  // The schema lies elsewhere, seen from there.
  const agent = files.get('agent.yaml')!;
  expect(agent).toMatch(/^# yaml-language-server: \$schema=.*\/dist\/schemas\/agent\.schema\.json$/m);
  files.set('agent.yaml', agent.replace(/\$schema=.*/, '$schema=../../dist/schemas/agent.schema.json'));
  expect(files).toEqual(filesOf(join(EXAMPLES, example)));
  const run = join(projectRoot(), 'whet');
  expect(JSON.parse(stdout)).toEqual({
    name,
    folder: join(folder, name),
    files: [...files.keys()],
    next: ['validate', 'up', 'run'].map(
      (verb) => `${run} ${verb} ${name}/agent.yaml${verb === 'run' ? ' --follow' : ''}`,
    ),
  });
  expect(written()).toEqual([name]);
});

test('what is written for an application is valid at once, and says what to type next', () => {
  const { status, stdout } = init('desk', '--gateway', ...MODEL);
  expect(status).toBe(0);
  expect(stdout).toContain('wrote desk: agent.yaml, client.py, environment.py\n');
  expect(stdout).toContain('set OPENAI_API_KEY before `whet up`');
  expect(readFileSync(join(folder, 'desk/client.py'), 'utf8')).toContain('os.environ.get("AGENT", "desk")');
  const [validate] = stdout.split('\n').filter((line) => line.includes(' validate '));
  // The weights are on another machine.
  const env = { ...process.env, TEMPORAL_ADDRESS: 'temporal.example:7233' };
  const checked = spawnSync('bash', ['-c', validate!], { cwd: folder, env, encoding: 'utf8' });
  expect(checked.stdout).toContain('valid (agent desk, its environment starts; the reference solutions of 8 train');
  expect(checked.status).toBe(0);
});

test('a Python class is copied, and a model beside it is named by its whole path', () => {
  writeFileSync(join(folder, 'mine.py'), readFileSync(join(EXAMPLES, 'smallest/environment.py')));
  const model = ['--base-url', 'https://models.example/v1', '--model', 'm: 1', '--model-path', 'weights'];
  expect(init('desk', '--python', 'mine.py', ...model)).toMatchObject({ status: 0, stderr: '' });
  expect([...filesOf(join(folder, 'desk')).keys()]).toEqual(['agent.yaml', 'environment.py']);
  expect(loadAgentSpec(join(folder, 'desk/agent.yaml'))).toMatchObject({
    name: 'desk',
    model: { name: 'm: 1', path: join(folder, 'weights'), baseUrl: 'https://models.example/v1' },
  });
});

test('a program of its own is copied with the files that its command names', () => {
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/run.sh'), 'echo hello\n');
  chmodSync(join(folder, 'bin/run.sh'), 0o755);
  writeFileSync(join(folder, 'agent.py'), '# mine\n');
  expect(init('desk', '--command', "./bin/run.sh agent.py --mode 'for a test'", ...MODEL).status).toBe(0);
  const { environment } = loadAgentSpec(join(folder, 'desk/agent.yaml'));
  expect(environment).toMatchObject({
    kind: 'program',
    command: ['./bin/run.sh', 'agent.py', '--mode', 'for a test'],
    trainSeeds: { start: 0, count: 20 },
    heldOutSeeds: { start: 20, count: 20 },
  });
  expect(readFileSync(join(folder, 'desk/agent.py'), 'utf8')).toBe('# mine\n');
  expect(spawnSync('bash', ['-c', './bin/run.sh'], { cwd: join(folder, 'desk'), encoding: 'utf8' }).stdout).toBe(
    'hello\n',
  );
});

test('what a command names outside the new folder is named by its whole path, and its folder is shown', () => {
  // Root's jail has a user of its own.
  chmodSync(folder, 0o755);
  for (const path of ['here', 'src/lib', 'venv/bin', 'data']) mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, 'src/agent.py'), readFileSync(join(EXAMPLES, 'smallest-program/agent.py')));
  writeFileSync(join(folder, 'src/lib/a.py'), '');
  writeFileSync(join(folder, 'venv/pyvenv.cfg'), '');
  symlinkSync('/usr/bin/python3', join(folder, 'venv/bin/python'));
  const command = `../venv/bin/python ../src/agent.py ${folder}/data ../src/lib/a.py /usr/bin/env /etc/hosts / none/x`;
  const here = join(folder, 'here');
  expect(whet(['init', 'desk', '--command', command, ...MODEL], here)).toMatchObject({ status: 0, stderr: '' });
  expect(loadAgentSpec(join(here, 'desk/agent.yaml')).environment).toMatchObject({
    command: [
      ...['venv/bin/python', 'src/agent.py', 'data', 'src/lib/a.py'].map((path) => join(folder, path)),
      ...['/usr/bin/env', '/etc/hosts', '/', 'none/x'],
    ],
    folders: ['venv', 'src', 'data'].map((path) => join(folder, path)),
  });
  // The program starts: its jail shows it.
  expect(whet(['init', 'tills', '--command', 'python3 ../src/agent.py', ...MODEL], here).status).toBe(0);
  const env = { ...process.env, TEMPORAL_ADDRESS: 'temporal.example:7233', WHET_HOME: join(folder, '.whetstone') };
  const args = [join(projectRoot(), 'dist/cli/main.js'), 'validate', 'tills/agent.yaml'];
  const checked = spawnSync(process.execPath, args, { cwd: here, env, encoding: 'utf8' });
  // On a busy machine it says what it waits for.
  expect(checked.stderr.replace(/^after .*\n/gm, '')).toBe('');
  expect(checked.stdout).toContain('valid (agent tills');
});

test('a word of a command that could name no file is a word', () => {
  writeFileSync(join(folder, 'agent.py'), '');
  const code = `import sys; sys.exit('${'x'.repeat(300)}')`;
  expect(init('desk', '--command', `python3 -c "${code}" agent.py/x`, ...MODEL).status).toBe(0);
  expect(loadAgentSpec(join(folder, 'desk', 'agent.yaml')).environment).toMatchObject({
    command: ['python3', '-c', code, 'agent.py/x'],
  });
});

test('a benchmark is a kind that has a starter, and its steps come before the others', () => {
  expect(benchmarks([moduleKind])).toEqual([]);
  const starter = { section: { path: 'x.py' }, before: ['WHET env add module', 'WHET env tasks FOLDER/agent.yaml'] };
  const [benchmark] = benchmarks([{ ...moduleKind, starter }]);
  expect(benchmark).toEqual({
    kind: 'module',
    about: 'A Python class without input and output, in the jail.',
    ...starter,
  });
  const model = { baseUrl: 'http://127.0.0.1:8000/v1', name: 'm', path: '/m' };
  const answers = { kind: { starts: 'benchmark', benchmark: benchmark! }, model } as const;
  const files = starterFiles('desk', answers, { folder: join(folder, 'desk'), from: folder });
  expect([...files.keys()]).toEqual(['agent.yaml']);
  expect(files.get('agent.yaml')).toMatchObject({
    text: expect.stringContaining('environment:\n  kind: module\n  path: x.py\nmodel:'),
  });
});

describe('refused, and nothing is written', () => {
  const refusals: [string, string[], string][] = [
    ['a name in capitals', ['Desk', '--gateway', ...MODEL], 'The name "Desk" is not allowed. Allowed: lower-case'],
    ['a path as a name', ['../desk', '--gateway', ...MODEL], 'The name "../desk" is not allowed.'],
    ['no name', ['--gateway', ...MODEL], "missing required argument 'name'"],
    [
      'no flag at all',
      ['desk'],
      'Nobody can be asked here, so flags are missing: one of --gateway, --program, --command <words>, ' +
        '--python <file>, --benchmark <name>; --base-url <url>; --model <name>; --model-path <folder>. Nothing',
    ],
    ['one flag missing', ['desk', '--gateway', ...MODEL.slice(0, 4)], 'flags are missing: --model-path <folder>.'],
    ['two things', ['desk', '--gateway', '--program', ...MODEL], "'--gateway' cannot be used with option '--program'"],
    [
      'an address as the name of a model',
      ['desk', '--gateway', ...MODEL.slice(0, 2), '--model', 'http://m.example/v1', '--model-path', '/m'],
      '--model: "http://m.example/v1" is not allowed. Allowed: the name under which',
    ],
    ['an unknown benchmark', ['desk', '--benchmark', 'no-such', ...MODEL], '--benchmark: "no-such" is not allowed.'],
    ['no such file', ['desk', '--python', 'no.py', ...MODEL], '--python: there is no file '],
    ['a folder as a file', ['desk', '--python', '.', ...MODEL], '--python: there is no file '],
    ['a command of a shell', ['desk', '--command', 'a | b', ...MODEL], '--command: "a | b" is not allowed. No shell'],
    ['too long a command', ['desk', '--command', 'x '.repeat(201), ...MODEL], 'environment.command: '],
    [
      'a model without an address',
      ['desk', '--gateway', ...MODEL, '--base-url', 'localhost'],
      '--base-url: "localhost" is not allowed. Allowed: an address that begins with http:// or https://.',
    ],
    ['an empty name of a model', ['desk', '--gateway', ...MODEL, '--model', ' '], '--model: " " is not allowed.'],
  ];
  test.each(refusals)('%s', (_, args, message) => {
    const { status, stdout, stderr } = init(...args);
    expect(stderr).toContain(message);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(written()).toEqual([]);
  });

  test('a command that names a link in this folder, or a file in one around it', () => {
    mkdirSync(join(folder, 'here'));
    writeFileSync(join(folder, 'agent.py'), '');
    symlinkSync('/usr/bin/env', join(folder, 'here/python'));
    for (const [command, word, shown] of [
      ['python3 ../agent.py', '../agent.py', folder],
      [`python3 ${folder}/agent.py`, `${folder}/agent.py`, folder],
      ['./python a.py', './python', join(folder, 'here')],
    ] as const) {
      const { status, stderr } = whet(['init', 'desk', '--command', command, ...MODEL], join(folder, 'here'));
      expect(stderr).toContain(
        `--command: "${word}" is in ${shown}, which the command cannot be shown: the new folder`,
      );
      expect(status).toBe(2);
    }
    expect(readdirSync(join(folder, 'here'))).toEqual(['python']);
  });

  test('a folder with files, a file and a link; an empty folder is filled', () => {
    const refuses = (what: string) => {
      const { status, stdout } = init('desk', '--gateway', ...MODEL, '--json');
      const { error } = JSON.parse(stdout) as { error: { type: string; message: string } };
      expect(error).toEqual({
        type: 'Init.Exists',
        message: `${join(folder, 'desk')} ${what}, and nothing is overwritten. Choose another name, or move it away.`,
      });
      expect(status).toBe(2);
    };
    writeFileSync(join(folder, 'desk'), 'kept');
    refuses('is a file or a link');
    expect(readFileSync(join(folder, 'desk'), 'utf8')).toBe('kept');
    rmSync(join(folder, 'desk'));
    symlinkSync('nowhere', join(folder, 'desk'));
    refuses('is a file or a link');
    rmSync(join(folder, 'desk'));
    mkdirSync(join(folder, 'desk'));
    writeFileSync(join(folder, 'desk/notes'), '');
    refuses('has files, such as notes');
    expect(readdirSync(join(folder, 'desk'))).toEqual(['notes']);
    rmSync(join(folder, 'desk/notes'));
    expect(init('desk', '--gateway', ...MODEL).status).toBe(0);
    expect(written()).toEqual(['desk']);
  });
});

describe('in a terminal', () => {
  /** Runs the command in this process, as if a person typed these lines and then Ctrl-D. */
  async function typed(lines: string[], flags: Parameters<typeof initCommand>[2] = {}) {
    const input = new PassThrough();
    const output = new PassThrough();
    input.end(lines.map((line) => `${line}\n`).join(''));
    const results: unknown[] = [];
    const out = {
      live: false,
      line: () => undefined,
      redraw: () => undefined,
      result: (value: unknown) => void results.push(value),
    };
    const here = process.cwd();
    process.chdir(folder);
    try {
      const context = { settings: { analystConfigured: true }, out } as unknown as Parameters<typeof initCommand>[0];
      await initCommand(context, 'desk', flags, { input, output, isInteractive: true });
    } finally {
      process.chdir(here);
    }
    return { asked: String(output.read() ?? ''), results };
  }

  test('a word is taken for its number, and an address is no name of a model and no folder', async () => {
    const { asked } = await typed([
      ...['parcels', 'Program', '', '', 'http://127.0.0.1:8000/v1', 'qwen3-4b'],
      ...['https://models.example/Qwen3-4B', '/models/Qwen3-4B'],
    ]);
    expect(asked).toContain('"parcels" is not allowed. Allowed: 1 to 4, or gateway, program, python, benchmark.');
    expect(asked).toContain(
      '"http://127.0.0.1:8000/v1" is not allowed. Allowed: the name under which the server serves the model, such as',
    );
    expect(asked).toContain('"https://models.example/Qwen3-4B" is not allowed. Allowed: a folder, and not an address');
    expect(loadAgentSpec(join(folder, 'desk/agent.yaml'))).toMatchObject({
      environment: { kind: 'program' },
      model: { name: 'qwen3-4b', path: '/models/Qwen3-4B', baseUrl: 'http://127.0.0.1:8000/v1' },
    });
  });

  test('all is asked, and a wrong answer is asked again', async () => {
    const { asked } = await typed(['0', '2', 'a | b', '', 'ftp://x', '', '', 'qwen3-4b', '/models/Qwen3-4B']);
    expect(asked).toMatchInlineSnapshot(`
     "What is there?
       1  gateway: an application that asks a model at an OpenAI-compatible address
       2  program: a command that plays one task; a starter in Python is written
       3  python: a Python file with class Environment, which is copied
       4  benchmark: a benchmark by its name: tau2, toolsandbox, openenv, verifiers
     Number or word: "0" is not allowed. Allowed: 1 to 4, or gateway, program, python, benchmark.
     What is there?
       1  gateway: an application that asks a model at an OpenAI-compatible address
       2  program: a command that plays one task; a starter in Python is written
       3  python: a Python file with class Environment, which is copied
       4  benchmark: a benchmark by its name: tau2, toolsandbox, openenv, verifiers
     Number or word: Its command (nothing: a starter in Python is written): "a | b" is not allowed. No shell reads it, so | has no effect. Write it in quotes, or use bash -c '...'.
     Its command (nothing: a starter in Python is written): OpenAI-compatible address of the model [http://127.0.0.1:8000/v1]: "ftp://x" is not allowed. Allowed: an address that begins with http:// or https://.
     OpenAI-compatible address of the model [http://127.0.0.1:8000/v1]: the model's name there: An answer is needed.
     the model's name there: folder with the model's weights, in save_pretrained format: "
    `);
    expect(filesOf(join(folder, 'desk')).get('agent.py')).toBe(
      readFileSync(join(EXAMPLES, 'smallest-program/agent.py'), 'utf8'),
    );
    expect(loadAgentSpec(join(folder, 'desk/agent.yaml'))).toMatchObject({
      name: 'desk',
      model: { name: 'qwen3-4b', path: '/models/Qwen3-4B', baseUrl: 'http://127.0.0.1:8000/v1' },
    });
  });

  test('what flags say is not asked', async () => {
    const flags = { gateway: true, baseUrl: 'http://127.0.0.1:8000/v1', modelPath: '/m' };
    expect((await typed(['m'], flags)).asked).toBe("the model's name there: ");
    expect(existsSync(join(folder, 'desk/client.py'))).toBe(true);
  });

  test.each([
    ['a command', ['2', 'node agent.js'], ['agent.yaml', 'tasks.jsonl']],
    ['a Python class', ['3', 'mine.py'], ['agent.yaml', 'environment.py']],
  ])('%s', async (_, lines, files) => {
    writeFileSync(join(folder, 'mine.py'), 'class Environment: pass\n');
    await typed(lines, { baseUrl: 'http://127.0.0.1:8000/v1', model: 'm', modelPath: '/m' });
    expect([...filesOf(join(folder, 'desk')).keys()]).toEqual(files);
  });

  test('where the answers end early, nothing is written', async () => {
    await expect(typed(['1', 'http://127.0.0.1:8000/v1'])).rejects.toMatchObject({
      exitCode: 2,
      message: 'The answers ended early. Nothing was written.',
    });
    expect(written()).toEqual([]);
  });

  test('with --json nobody is asked', async () => {
    await expect(typed(['1'], { json: true })).rejects.toThrow('Nobody can be asked here');
  });
});
