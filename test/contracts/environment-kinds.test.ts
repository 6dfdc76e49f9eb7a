// tier: unit
import {
  commandOf,
  CONVERSATIONS,
  conversationsOf,
  environmentSchema,
  fieldOfPlayer,
  isPlayable,
  modulePath,
  originOfTasks,
  playedAs,
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
  expect(fieldOfPlayer(environment)).toBe(`environment.${path === null ? 'command' : 'path'}`);
  expect(commandOf(environment)?.commands[0]!.command ?? null).toEqual(asked);
  expect(environment.maxTurns).toBe(12);
});

test('conversations have no tasks, and nothing plays them', () => {
  const environment = environmentSchema.parse(CONVERSATIONS);
  expect(isPlayable(environment)).toBe(false);
  expect(isPlayable(environmentSchema.parse({ path: 'desk.py', ...seeds }))).toBe(true);
  expect([environment.trainSeeds.count, environment.heldOutSeeds.count]).toEqual([0, 0]);
  expect([modulePath(environment), commandOf(environment), originOfTasks(environment)]).toEqual([null, null, null]);
  expect(() => playedAs(environment)).toThrow('Nothing plays');
  // A prepared spec is read again with all that was filled in.
  expect(environmentSchema.parse(environment)).toEqual(environment);
  expect(conversationsOf(environmentSchema.parse({ ...CONVERSATIONS, most: 30 }))?.most).toBe(30);
  expect(conversationsOf(environmentSchema.parse({ path: 'desk.py', ...seeds }))).toBeNull();
  expect(environmentSchema.safeParse({ ...CONVERSATIONS, trainSeeds: seeds.trainSeeds }).success).toBe(false);
});

test('a short form has no field for what plays it', () => {
  const environment = environmentSchema.parse({ kind: 'openenv', url: 'http://127.0.0.1:1', venv: 'venv', ...seeds });
  expect(fieldOfPlayer(environment)).toBe('environment');
});

test('named tasks have no seeds before they are read, from a file or from a command', () => {
  const environment = environmentSchema.parse({ kind: 'process', command, tasks: 'tasks.jsonl' });
  expect(environment.trainSeeds.count).toBe(0);
  expect(originOfTasks(environment)).toEqual({
    file: 'tasks.jsonl',
    splits: { train: ['train'], heldOut: ['test', 'heldOut', 'held-out'] },
  });
  expect(originOfTasks(environmentSchema.parse({ path: 'desk.py', ...seeds }))).toBeNull();
  const printed = environmentSchema.parse({ kind: 'program', command, tasks: { command: ['./list.sh', 'all'] } });
  expect(printed.trainSeeds.count).toBe(0);
  expect(originOfTasks(printed)).toMatchObject({ command: ['./list.sh', 'all'], seconds: 300 });
});

test('each command is asked for by its field', () => {
  const environment = environmentSchema.parse({
    kind: 'program',
    command,
    score: ['./score.sh'],
    tasks: { command: ['./list.sh'] },
  });
  expect(commandOf(environment)!.commands).toEqual([
    { field: 'command', command },
    { field: 'score', command: ['./score.sh'] },
    { field: 'tasks.command', command: ['./list.sh'] },
  ]);
});

test.each([
  { command: [] },
  { command: 'list.sh' },
  { seconds: 5 },
  { command: ['list.sh'], seconds: 0 },
  { command: ['list.sh'], seconds: 10_801 },
  { command: ['list.sh'], shell: true },
])('a command of tasks is refused: %j', (tasks) => {
  expect(environmentSchema.safeParse({ kind: 'program', command, tasks }).success).toBe(false);
});
