// tier: unit
import {
  commandOf,
  environmentSchema,
  modulePath,
  playedAs,
  taskFileOf,
} from '../../contracts/config/environment-kinds';

const seeds = { trainSeeds: { start: 0, count: 2 }, heldOutSeeds: { start: 5, count: 1 } };
const command = ['python3', 'server.py'];

/** A section of agent.yaml, and what plays it. */
const KINDS: [name: string, section: object, plays: string, path: string | null, asked: readonly string[] | null][] = [
  ['a module, which needs no kind', { path: 'desk.py', ...seeds }, 'module', 'desk.py', null],
  ['a module', { kind: 'module', path: 'desk.py', ...seeds }, 'module', 'desk.py', null],
  ['a process', { kind: 'process', command, ...seeds }, 'process', null, command],
  ['a program', { kind: 'program', command, tasks: 'tasks.jsonl' }, 'program', null, command],
];

test.each(KINDS)('%s', (_, section, plays, path, asked) => {
  const environment = environmentSchema.parse(section);
  expect(playedAs(environment).kind).toBe(plays);
  expect(modulePath(environment)).toBe(path);
  expect(commandOf(environment)?.command ?? null).toEqual(asked);
  expect(environment.maxTurns).toBe(12);
});

test('named tasks have no seeds before their file is read', () => {
  const environment = environmentSchema.parse({ kind: 'process', command, tasks: 'tasks.jsonl' });
  expect(environment.trainSeeds.count).toBe(0);
  expect(taskFileOf(environment)).toEqual({
    file: 'tasks.jsonl',
    splits: { train: ['train'], heldOut: ['test', 'heldOut', 'held-out'] },
  });
  expect(taskFileOf(environmentSchema.parse({ path: 'desk.py', ...seeds }))).toBeNull();
});
