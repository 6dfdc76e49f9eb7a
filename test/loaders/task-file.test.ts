// tier: unit
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAgentSpec, loadTasks } from '../../loaders/agent-spec';

const folder = mkdtempSync(join(tmpdir(), 'tasks-'));
afterAll(() => rmSync(folder, { recursive: true }));

const agentFile = join(folder, 'agent.yaml');

function load(tasks: string, more = '') {
  writeFileSync(join(folder, 'tasks.jsonl'), tasks);
  writeFileSync(
    agentFile,
    `version: 1\nname: desk\nenvironment: { kind: process, command: [server.py], tasks: tasks.jsonl${more} }\n` +
      "model: { name: base, baseUrl: 'http://127.0.0.1:9/v1' }\n",
  );
  return loadAgentSpec(agentFile);
}

const line = (id: string, split: string, group?: string): string => JSON.stringify({ id, split, group });

test('named tasks get seeds: train tasks first, each in the order of its lines', () => {
  const spec = load(
    [line('a', 'test'), line('b', 'train'), '', line('c', 'train', 'g'), line('d', 'train', 'g')].join('\n'),
  );
  expect(spec.environment).toMatchObject({
    trainSeeds: { start: 0, count: 3 },
    heldOutSeeds: { start: 3, count: 1 },
  });
  expect(loadTasks(spec, folder)!.map(({ id }) => id)).toEqual(['b', 'c', 'd', 'a']);
});

test('splits of other names are for what agent.yaml says', () => {
  const tasks = [line('a', 'base'), line('b', 'dev')].join('\n');
  const spec = load(tasks, ', splits: { train: [dev], heldOut: [base] }');
  expect(loadTasks(spec, folder)!.map(({ id, range }) => [id, range])).toEqual([
    ['b', 'train'],
    ['a', 'heldOut'],
  ]);
});

const GOOD = [line('a', 'train'), line('b', 'test')];

const refused: [string, string[], string, string?][] = [
  ['an id twice', [...GOOD, line('a', 'train')], 'tasks.jsonl, line 3, id: "a" is also in line 1.'],
  [
    'an unknown split',
    [...GOOD, line('c', 'dev')],
    'line 3, split: "dev" is not allowed. Allowed: "train" or "test" or',
  ],
  ['a group in both', [line('a', 'train', 'g'), line('b', 'test', 'g')], 'line 2, group: "g" has train and held-out'],
  ['no held-out task', [line('a', 'train')], 'tasks.jsonl has no task of split "test" or "heldOut" or "held-out"'],
  ['no train task', [line('a', 'test')], 'has no task of split "train" (environment.splits.train)'],
  ['no JSON', ['root:x:0', ...GOOD], 'line 1: is no JSON object'],
  ['a number', ['1', ...GOOD], 'line 1: is no JSON object. A line is {"id": "...", "split": "..."}'],
  ['a missing split', ['{"id":"a"}', ...GOOD], 'line 1, split: is missing'],
  [
    'an unknown field',
    ['{"id":"a","split":"train","prompt":"x"}', ...GOOD],
    'line 1, prompt: unknown field. Known here: id, split, group',
  ],
  [
    'seeds beside tasks',
    GOOD,
    'environment.trainSeeds: is not allowed beside `tasks`',
    ', trainSeeds: { start: 0, count: 1 }',
  ],
  [
    'a split for both uses',
    GOOD,
    'environment.splits.heldOut: "train" is also in splits.train',
    ', splits: { heldOut: [train] }',
  ],
];

test.each(refused.map(([name, ...row]) => [name, row] as const))('%s is refused with its place', (_, row) => {
  const [tasks, message, more] = row;
  expect(() => load(tasks.join('\n'), more)).toThrow(message);
});

test('a line that is no task is not quoted, because the path may lead to any file', () => {
  expect(() => load('root:secret')).toThrow(expect.not.stringContaining('secret') as Error);
});

test('without tasks a command needs seeds, and a missing file is named', () => {
  load(GOOD.join('\n'));
  const text = (environment: string) =>
    `version: 1\nname: desk\nenvironment: ${environment}\nmodel: { name: base, baseUrl: 'http://127.0.0.1:9/v1' }\n`;
  writeFileSync(agentFile, text('{ kind: process, command: [server.py] }'));
  expect(() => loadAgentSpec(agentFile)).toThrow('environment.trainSeeds: is missing');
  writeFileSync(agentFile, text('{ kind: process, command: [server.py], tasks: none.jsonl }'));
  expect(() => loadAgentSpec(agentFile)).toThrow('environment.tasks: "none.jsonl": there is no such file.');
  writeFileSync(agentFile, text('{ kind: modul, path: desk.py }'));
  expect(() => loadAgentSpec(agentFile)).toThrow(
    'environment.kind: "modul" is not allowed. Did you mean "module"? Allowed: "module", "process"',
  );
  writeFileSync(agentFile, text('{ kind: program, command: [server.py], comand: 1 }'));
  expect(() => loadAgentSpec(agentFile)).toThrow(
    /environment\.comand: unknown field\. Did you mean command\? Known here: kind, command, folders/,
  );
});

test('a file outside the folder of agent.yaml is not read, by whatever way', () => {
  const secret = join(folder, 'secret.jsonl');
  writeFileSync(secret, '{"id": "a", "split": "of another tenant"}\n');
  const agent = join(folder, 'inner', 'agent.yaml');
  mkdirSync(join(folder, 'inner'));
  symlinkSync(secret, join(folder, 'inner', 'link.jsonl'));
  for (const tasks of ['../secret.jsonl', secret, 'link.jsonl', '../none.jsonl']) {
    writeFileSync(
      agent,
      `version: 1\nname: desk\nenvironment: { kind: process, command: [server.py], tasks: ${tasks} }\n` +
        "model: { name: base, baseUrl: 'http://127.0.0.1:9/v1' }\n",
    );
    const words = `"${tasks}" is not in the folder of agent.yaml, or leads out of it.`;
    expect(() => loadAgentSpec(agent)).toThrow(words);
  }
});
