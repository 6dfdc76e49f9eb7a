// tier: integration (files)
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type EnvironmentSection, environmentSchema } from '../../contracts/config/environment-kinds';
import { commandIdentity } from '../../loaders/command-identity';
import { ownerEnvironment } from '../../loaders/owner-environment';

let root: string;
beforeAll(() => void (root = mkdtempSync(join(tmpdir(), 'whet-identity-'))));
afterAll(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** A machine with the same agent, virtual environment and data. Returns their folders. */
function machine(name: string, { packages = ['desk-1.0'], data = 'one', python = 'python3.11' } = {}) {
  const [agent, venv, shared] = ['agent', 'venvs/desk', 'shared'].map((place) => join(root, name, place)) as [
    string,
    string,
    string,
  ];
  write(join(agent, 'agent.py'), 'print(1)\n');
  symlinkSync(join(agent, 'agent.py'), join(agent, 'link.py'));
  for (const folder of [venv, join(agent, 'venv')]) {
    write(join(folder, 'pyvenv.cfg'), `home = /usr/bin\ncommand = python -m venv ${folder}\n`);
    for (const one of packages)
      write(join(folder, 'lib', python, 'site-packages', `${one}.dist-info`, 'RECORD'), folder);
    write(join(folder, 'bin', 'python'), folder);
  }
  write(join(shared, 'tasks.json'), data);
  return { agent, venv, shared };
}

type Machine = ReturnType<typeof machine>;

const seeds = { trainSeeds: { start: 0, count: 1 }, heldOutSeeds: { start: 1, count: 1 } };

const identity = (kind: 'program' | 'process', { agent, venv, shared }: Machine, more: object = {}): string => {
  const environment = environmentSchema.parse({
    kind,
    command: [join(venv, 'bin', 'python'), 'agent.py', join(agent, 'link.py'), `--data=${shared}/tasks.json`],
    folders: [venv, shared],
    variables: { PYTHONPATH: `${shared}:${venv}/more` },
    ...seeds,
    ...more,
  });
  return identityOf(environment, agent);
};

const identityOf = (environment: EnvironmentSection, agent: string): string =>
  ownerEnvironment({ name: 'desk', environment } as never, join(agent, 'agent.yaml'), null).sha256(
    environment.kind === 'process' ? 'desk==1.0' : undefined,
  );

describe.each(['program', 'process'] as const)('kind %s', (kind) => {
  test('the same agent in other folders is the same', () => {
    const [one, two] = [machine(`${kind}-one`), machine(`${kind}-two-in-a-longer-place`)];
    expect(identity(kind, one)).toBe(identity(kind, two));
    const own = { command: ['venv/bin/python', 'agent.py'], folders: [], variables: {} };
    expect(identity(kind, one, own)).toBe(identity(kind, two, own));
    const whole = (at: Machine) => ({ ...own, command: [join(at.agent, 'venv/bin/python'), 'agent.py'] });
    expect(identity(kind, one, whole(one))).toBe(identity(kind, two, whole(two)));
  });

  test('what a folder holds decides, not its name', () => {
    const [one, other] = [machine(`${kind}-data-one`), machine(`${kind}-data-other`, { data: 'two' })];
    expect(identity(kind, one)).not.toBe(identity(kind, other));
  });

  test('a path that only begins as a folder does is another one', () => {
    const one = machine(`${kind}-begins`);
    const path = (end: string) => identity(kind, one, { command: ['python3', `${one.shared}${end}`] });
    expect(new Set(['-old', '.zip', '2', '/old', ''].map(path)).size).toBe(5);
    const [there, here] = [machine(`${kind}-a`), machine(`${kind}-b`)];
    const copied = (at: Machine) => identity(kind, at, { command: ['python3', `${at.shared}-old`] });
    expect(copied(there)).not.toBe(copied(here));
  });

  test('which of two folders a word names is not forgotten', () => {
    const one = machine(`${kind}-which`);
    const words = (folder: string) => identity(kind, one, { command: ['python3', folder] });
    expect(words(one.venv)).not.toBe(words(one.shared));
  });
});

test.each([
  ['other packages', { packages: ['desk-1.1'] }],
  ['a further package', { packages: ['desk-1.0', 'more-1'] }],
  ['another Python', { python: 'python3.12' }],
])('a program with %s is another one, wherever its virtual environment lies', (name, more) => {
  const [one, other] = [machine(`${name}-one`), machine(`${name}-other`, more)];
  expect(identity('program', one)).not.toBe(identity('program', other));
  const own = { command: ['venv/bin/python', 'agent.py'], folders: [], variables: {} };
  expect(identity('program', one, own)).not.toBe(identity('program', other, own));
  // A process says itself which packages decide an episode.
  expect(identity('process', one)).toBe(identity('process', other));
});

describe('a folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(root, 'any-'));
  });
  const contentOf = (): unknown =>
    commandIdentity({ command: ['run'], score: [], variables: {}, agentFolder: root, folders: [folder] }, false)
      .folders[0];
  const python = (source: string) => execFileSync('python3', ['-c', source], { cwd: folder });

  test('with a file of any name is that file too', () => {
    const contents = ['one', 'two'].map((text) => {
      writeFileSync(join(folder, '__proto__'), text);
      return JSON.stringify(contentOf());
    });
    expect(contents[0]).not.toBe(contents[1]);
  });

  test('whose paths are longer than the kernel takes counts by its path', () => {
    python("import os\nfor _ in range(30): os.mkdir('d' * 200); os.chdir('d' * 200)");
    expect(contentOf()).toBe(folder);
    execFileSync('rm', ['-r', folder]);
  });

  test('of endless folders counts by its path', () => {
    python('import os\nfor name in range(20_001): os.mkdir(str(name))');
    expect(contentOf()).toBe(folder);
    execFileSync('rm', ['-r', folder]);
  });
});

describe('a command of the agent’s folder', () => {
  let agent: string;
  beforeEach(() => {
    agent = mkdtempSync(join(root, 'command-'));
    write(join(agent, 'v1', 'agent.py'), 'print(1)');
  });
  const files = (...command: string[]) =>
    commandIdentity({ command, score: [], variables: {}, agentFolder: agent, folders: [] }, false).files;

  test.each([
    ['a file', 'v1/agent.py', 'agent.py'],
    ['a folder', 'v1', 'now'],
  ])('that is a link to %s is another one when what it leads to changes', (_, target, link) => {
    symlinkSync(target, join(agent, link));
    const before = files('python3', link);
    expect(Object.keys(before).sort()).toEqual([link, 'v1/agent.py'].sort());
    write(join(agent, 'v1', 'agent.py'), 'print(2)');
    expect(files('python3', link)).not.toEqual(before);
  });

  test('ends where links lead in circles, out of the folder, or to what is installed', () => {
    for (const [link, target] of [
      ['v1/up', '..'],
      ['v1/here', 'here'],
      ['v1/out', '/usr'],
      ['v1/tool', '../node_modules/tool.js'],
      ['v1/python', '../venv/bin/python'],
    ] as const)
      symlinkSync(target, join(agent, link));
    write(join(agent, 'node_modules', 'tool.js'), '');
    write(join(agent, 'venv', 'pyvenv.cfg'), '');
    write(join(agent, 'venv', 'bin', 'python'), '');
    const names = ['agent.py', 'here', 'out', 'python', 'tool', 'up'].map((name) => `v1/${name}`);
    expect(Object.keys(files('python3', 'v1')).sort()).toEqual(names);
  });

  test('may have words that could name no file', () => {
    expect(files('python3', 'x'.repeat(300), 'v1/agent.py/x', 'a\0b', 'v1/agent.py')).toEqual(files('v1/agent.py'));
  });

  test('is refused where a file that it names is too large, or all of them are', () => {
    const large = (name: string, bytes: number) => {
      write(join(agent, 'data', name), '');
      truncateSync(join(agent, 'data', name), bytes);
    };
    large('one', 50_000_001);
    expect(() => files('cat', 'data')).toThrow(
      `${agent}/data/one, which the command names, cannot count: it has 50000001 bytes, and at most 50000000 are read.`,
    );
    for (const name of ['one', 'two', 'three', 'four', 'five']) large(name, 50_000_000);
    expect(() => files('cat', 'data')).toThrow(`${agent}: the command names files of more than 200000000 bytes.`);
  });
});
