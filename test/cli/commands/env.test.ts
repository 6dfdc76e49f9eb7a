// Tier: jail (the built command in a process of its own, real jail; no services).
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { layout, LocalStore } from '../../../store';
import { BROKEN, breakEnvironment } from '../../activities/environment-checks/environments/broken';

const WHET = resolve('dist/cli/main.js');
const environment = (name: string) => resolve('test/activities/environment-checks/environments', name);

describe('whet env', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-env-'));
  const agent = join(folder, 'agent.yaml');
  /** An agent whose openings are worded as those of procedural.py. */
  const procedural = join(folder, 'procedural.yaml');

  beforeAll(() => {
    if (!existsSync(WHET)) throw new Error('These tests start the built command: run `make build` first.');
    const ranges = 'trainSeeds: { start: 0, count: 40 }\n  heldOutSeeds: { start: 1000, count: 40 }';
    const model =
      'model: { name: base, baseUrl: http://127.0.0.1:9/v1 }\ncertificate: { seeds: 20, diversitySeeds: 60 }\n';
    const written = (path: string) =>
      `version: 1\nname: post-office\nenvironment:\n  path: ${path}\n  ${ranges}\n${model}`;
    writeFileSync(agent, written(environment('good/replaying_class.py')));
    writeFileSync(procedural, written(environment('good/procedural.py')));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Path of the good environment with one thing broken. */
  const broken = (name: string) => {
    const file = join(folder, `${name}.py`);
    writeFileSync(file, breakEnvironment(readFileSync(environment('good/replaying_class.py'), 'utf8'), BROKEN[name]!));
    return file;
  };

  const whet = (args: string[], input = '', cwd = folder) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [WHET, 'env', ...args], {
      cwd,
      env: { ...process.env, WHET_HOME: join(folder, 'home') },
      input,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };

  test.each(['run', 'check'])('%s refuses an agent.yaml by the kind of its environment', (verb) => {
    const refused = (name: string, text: string) => {
      const path = join(folder, name);
      writeFileSync(path, text);
      const { status, stdout, stderr } = whet([verb, path]);
      expect([status, stdout]).toEqual([2, '']);
      return stderr.replaceAll(folder, '');
    };
    const model = 'model: { name: base, baseUrl: http://127.0.0.1:9/v1 }\n';
    const program =
      'version: 1\nname: desk\nenvironment: { kind: program, command: [python3, a.py], tasks: t.jsonl }\n';
    expect(refused('program.yaml', program + model)).toContain(
      '/program.yaml: its environment is of kind program, a command and no Python class. ' +
        '`whet validate /program.yaml` plays one task of it.',
    );
    expect(refused('openenv.yml', program.replace('program', 'process') + model)).toContain(
      'is of kind process, a command and no Python class. `whet validate /openenv.yml` plays some of its tasks.',
    );
    const ranges = 'trainSeeds: { start: 0, count: 40 }, heldOutSeeds: { start: 1000, count: 40 }';
    const module = `version: 1\nname: desk\nenvironment: { path: mine.py, ${ranges} }\n`;
    expect(refused('module.yaml', module + model)).toContain('Its environment is one: name /mine.py.');
    expect(refused('other.yaml', 'x: 1\n')).toContain('/other.yaml: is no Python file. Name a Python file with class');
  });

  test('tasks refuses an agent without a process, and says where its tasks are', () => {
    const path = join(folder, 'no-process.yaml');
    const refused = (more: string) => {
      const environment = `{ kind: program, command: [python3, a.py], ${more} }`;
      const model = 'model: { name: base, baseUrl: http://127.0.0.1:9/v1 }\n';
      writeFileSync(path, `version: 1\nname: desk\nenvironment: ${environment}\n${model}`);
      const { status, stdout, stderr } = whet(['tasks', path]);
      expect([status, stdout]).toEqual([2, '']);
      return stderr;
    };
    expect(refused('tasks: tasks.jsonl')).toContain(
      `${path}: environment.tasks: is a file that you write, a line {"id":`,
    );
    expect(refused('trainSeeds: { start: 0, count: 4 }, heldOutSeeds: { start: 9, count: 4 }')).toContain(
      'environment.tasks: is not set: every seed of trainSeeds and heldOutSeeds is a task',
    );
    expect(refused('task: tasks.jsonl')).toContain('environment.task: unknown field. Did you mean tasks?');
  });

  test('check compares with an agent that is a program, and offers its model no tools', () => {
    // The user of the jail must be able to read the agent's folder.
    const own = mkdtempSync(join(tmpdir(), 'whet-env-program-'));
    chmodSync(own, 0o755);
    const path = join(own, 'agent.yaml');
    const ranges = 'trainSeeds: { start: 0, count: 4 }, heldOutSeeds: { start: 9, count: 4 }';
    const model = 'model: { name: base, baseUrl: http://127.0.0.1:9/v1 }\n';
    const written = `version: 1\nname: desk\nenvironment: { kind: program, command: [python3, a.py], ${ranges} }\n${model}`;
    writeFileSync(path, written);
    writeFileSync(
      join(own, 'a.py'),
      'import json, os, urllib.request\nbody = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": "May I?"}]}\n' +
        'headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}\n' +
        'url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"\n' +
        'urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()\n',
    );
    const { stdout, stderr } = whet(['check', environment('good/procedural.py'), '--agent', path]);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^✗ interface .* which the agent does not have\.$/m);
    rmSync(own, { recursive: true });
  });

  test('check prints each check and ends with 0 when all hold', () => {
    const { status, stdout } = whet(['check', environment('good/procedural.py'), '--agent', procedural]);
    expect(stdout).toMatch(/^checked for the agent of .*procedural\.yaml$/m);
    expect(stdout).toMatch(/^✓ parses +The source is Python\.$/m);
    expect(stdout).toContain('Not calibrated; 32 checks passed. Calibration needs a model; a run does it.');
    expect(status).toBe(0);
  });

  test('check --json is the certificate, and the exit code is 1 when a check fails', () => {
    const { status, stdout } = whet(['check', broken('not_isolated'), '--json']);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      certified: false,
      summary: 'Not certified: isolated, faults failed.',
      settings: { seeds: 20 },
    });
  });

  test('check prints where the code raises once, and in how many checks it did', () => {
    const file = join(folder, 'raises.py');
    const good = readFileSync(environment('good/replaying_class.py'), 'utf8');
    writeFileSync(file, good.replace(' counter = _Counter(task)', ' counter = _Counter(tsk)'));
    const { status, stdout } = whet(['check', file, '--agent', agent]);
    expect(status).toBe(1);
    expect(stdout.match(/: counter = _Counter\(tsk\)/g)).toHaveLength(2);
    expect(stdout).toMatch(/^✗ solvable .*NameError: .* raises\.py:94 in evaluate: counter = _Counter\(tsk\)$/m);
    expect(stdout).toMatch(/^✗ nop .*NameError: .*defined \(at the same place as solvable\)$/m);
    expect(stdout).toMatch(/^17 checks failed at raises\.py:94 in evaluate: counter = _Counter\(tsk\)$/m);
  });

  test.each([
    ['a file that is not there', ['check', 'nowhere.py'], /there is no such file/],
    [
      'an agent that is not there',
      ['check', environment('good/procedural.py'), '--agent', 'nowhere.yaml'],
      /nowhere\.yaml/,
    ],
    ['a seed that is no number', ['run', environment('good/procedural.py'), '--seed', 'x'], /no whole number/],
    ['no file', ['check'], /missing required argument/],
    [
      'a run that is not there',
      ['edit', 'run-0', 'stamps'],
      /has no environment for a capability stamps yet.*whet env edit run-0 stamps stamps\.py\n$/,
    ],
  ])('%s is wrong input: exit code 2', (_, args, message) => {
    const { status, stderr } = whet(args);
    expect(stderr).toMatch(message);
    expect(status).toBe(2);
  });

  test('run plays the reference solution', () => {
    const { status, stdout } = whet(['run', environment('good/procedural.py'), '--seed', '3', '--reference', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      seed: 3,
      reward: 1,
      steps: [{ done: false }, { move: { name: 'send' }, done: true }],
    });
  });

  test('run plays the moves of standard input, and says what is no move', () => {
    const { stdout } = whet(
      ['run', environment('good/procedural.py')],
      'what?\n{"go": 1}\n{"name": "weigh", "arguments": {"parcel": "P0"}}\n{"text": "bye"}\n',
    );
    expect(stdout).toContain('This line is not JSON');
    expect(stdout).toContain('A move is {"name"');
    expect(stdout).toContain('{"error": "no such parcel"}');
    expect(stdout).toContain('reward: 0');
  });

  test('a module that does not load is said with its line: exit code 1', () => {
    const { status, stderr } = whet(['run', broken('syntax_error')]);
    expect(stderr).toContain("'(' was never closed");
    expect(stderr).toContain('(syntax_error.py, line ');
    expect(status).toBe(1);
  });

  describe('text that acts on a terminal', () => {
    const HOSTILE = '\\n✓ isolated forged\\x1b]52;c;eA==\\x07\\u202e\\x9b2J\\u2028 end\\u2029';
    const hostile = (name: string, reset: string, step: string) => {
      const file = join(folder, `${name}.py`);
      const tool =
        '{"type": "function", "function": {"name": "go", "description": "", "parameters": {"type": "object"}}}';
      writeFileSync(
        file,
        'class Environment:\n' +
          `    @staticmethod\n    def tools(): return [${tool}]\n` +
          '    @staticmethod\n    def generate_task(seed): return {}\n' +
          `    def reset(self, seed): ${reset}\n` +
          `    def step(self, call): ${step}\n` +
          '    @staticmethod\n    def evaluate(trajectory, task): return 1.0\n' +
          '    @staticmethod\n    def reference_solution(task): return [{"name": "go", "arguments": {}}]\n',
      );
      return file;
    };
    const opening = `return [{"role": "user", "content": "go${HOSTILE}"}]`;
    const step = `return {"observation": "went${HOSTILE}", "done": True}`;
    const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e]/;

    test('is spelled out by run, and an observation cannot pass for the result', () => {
      const { status, stdout, stderr } = whet(['run', hostile('says', opening, step), '--reference']);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).not.toMatch(ACTING);
      expect(stdout).not.toMatch(/^✓/m);
      expect(stdout).toContain('\\u001b]52;c;eA==\\u0007\\u202e\\u009b2J\\u2028');
      expect(stdout).toMatch(/^reward: 1$/m);
    });

    test('is in --json what the environment said', () => {
      const { stdout } = whet(['run', hostile('json', opening, step), '--reference', '--json']);
      expect(stdout).not.toMatch(ACTING);
      expect(JSON.parse(stdout).steps[0].observation).toContain('\u001b]52;c;eA==\u0007\u202e\u009b2J\u2028');
    });

    test('forges no check', () => {
      const file = join(folder, 'forges.py');
      writeFileSync(file, `raise ValueError("no${HOSTILE}")\nclass Environment: pass\n`);
      const { status, stdout } = whet(['check', file, '--agent', agent]);
      expect(status).toBe(1);
      expect(stdout).not.toMatch(ACTING);
      expect(stdout).toContain('✓ isolated forged');
      expect(stdout).not.toMatch(/^✓ isolated forged/m);
    });

    test.each([
      ['', HOSTILE],
      [' without separators of lines', HOSTILE.replaceAll(/\\u202[89]/g, '')],
    ])('is spelled out in an error%s', (_, text) => {
      const file = join(folder, 'fails.py');
      writeFileSync(file, `raise ValueError("no${text}")\nclass Environment: pass\n`);
      const { status, stderr } = whet(['run', file]);
      expect(status).toBe(1);
      expect(stderr).toContain('✓ isolated forged\\u001b]52;c;eA==\\u0007\\u202e\\u009b2J');
      expect(stderr).not.toMatch(ACTING);
      expect(stderr).not.toMatch(/^✓/m);
    });
  });

  describe('check without --agent', () => {
    const root = mkdtempSync(join(tmpdir(), 'whet-env-agent-'));
    const [mine, bare] = [join(root, 'mine'), join(root, 'bare', 'a', 'b', 'c', 'd')];
    afterAll(() => rmSync(root, { recursive: true, force: true }));
    beforeAll(() => {
      for (const one of [mine, bare]) {
        mkdirSync(one, { recursive: true });
        writeFileSync(join(one, 'desk.py'), 'x = (\n');
      }
      writeFileSync(join(mine, 'agent.yaml'), readFileSync(agent));
    });
    const saysIn = (cwd: string, file: string) => whet(['check', file], '', cwd).stdout.split('\n')[0];

    test('takes the agent beside the file', () => {
      const mineYaml = join(mine, 'agent.yaml');
      expect(saysIn(bare, join(mine, 'desk.py'))).toBe(
        `checked for the agent of ${mineYaml}; --agent AGENT_YAML names another`,
      );
    });

    test('names the agent beside the file where it takes that of the directory', () => {
      const file = join(mine, 'desk.py');
      expect(saysIn(folder, file)).toBe(
        `checked for the agent of ${agent}, because it is in this directory. The file is next to another one: ` +
          `whet env check ${file} --agent ${join(mine, 'agent.yaml')}`,
      );
    });

    test('says that it takes the demo, and how to name another', () => {
      expect(saysIn(bare, 'desk.py')).toMatch(
        /orders-desk\/agent\.yaml, the demo, because no agent\.yaml is here or near the file\. For your own: whet env check desk\.py --agent AGENT_YAML$/,
      );
    });
  });

  test('edit without a file copies the last environment of the capability, once', async () => {
    const store = new LocalStore(join(folder, 'home', 'store'));
    await store.put(layout.environments('run-1', 'stamps'), 'attempt-1.py', '# the last one\n');
    const { status, stdout } = whet(['edit', 'run-1', 'stamps']);
    expect(status).toBe(0);
    // No server is there that could say which agent it is.
    expect(stdout).toContain('whet env check stamps.py --agent AGENT_YAML, whet env edit run-1 stamps stamps.py');
    expect(readFileSync(join(folder, 'stamps.py'), 'utf8')).toBe('# the last one\n');
    expect(whet(['edit', 'run-1', 'stamps'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is there already'),
    });
    // A label of the owner's own is not the id that the run made of the capability's name.
    expect(whet(['edit', 'run-1', 'postage'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('It has environments for stamps.'),
    });
  });
});
