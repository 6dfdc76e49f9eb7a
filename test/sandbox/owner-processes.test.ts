// tier: jail
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProcessSource, SandboxError } from '../../sandbox';
import { OwnerProcesses } from '../../sandbox/owner-processes';
import { loadProfile } from '../../sandbox/profile';

let root: string;
let agentFolder: string;
const opened: OwnerProcesses[] = [];
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'processes-'));
  chmodSync(root, 0o755);
  agentFolder = join(root, 'agent');
  mkdirSync(agentFolder);
  copyFileSync(join(__dirname, '..', 'fakes', 'process_server.py'), join(agentFolder, 'server.py'));
});
afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));
afterAll(() => rmSync(root, { recursive: true }));

const source = (
  { variables = {}, ...launch }: Partial<ProcessSource['launch']>,
  more: Partial<ProcessSource> = {},
): ProcessSource => ({
  plays: 'process',
  trust: 'owner',
  name: join(agentFolder, 'agent.yaml'),
  agent: 'desk',
  launch: {
    command: ['python3', 'server.py'],
    agentFolder,
    folders: [],
    secrets: [],
    variables,
    processes: 1,
    episodesPerProcess: 64,
    seconds: { start: 60, step: 60, episode: 600, judge: 60 },
    ...launch,
  },
  ...more,
});

async function open(of: ProcessSource, silenceMs?: number): Promise<OwnerProcesses> {
  const environment = await OwnerProcesses.open(of, loadProfile(), { silenceMs });
  opened.push(environment);
  return environment;
}

const ways = (by: Record<number, string>) => ({ WAYS: JSON.stringify(by) });

const seconds = (changes: Partial<ProcessSource['launch']['seconds']>) => ({
  start: 60,
  step: 60,
  episode: 600,
  judge: 60,
  ...changes,
});

/** Plays a task with one call: its reward, or the cause of its failure. */
async function play(environment: OwnerProcesses, seed: number, name = `e${seed}`): Promise<number | string> {
  try {
    await environment.reset(name, seed);
    await environment.step(name, [{ name: 'add', arguments: {} }], 'I add.');
    return (await environment.evaluate(name)).reward;
  } catch (error) {
    const { type, taskCause } = error as SandboxError;
    return type === 'Sandbox.TaskFailed' ? taskCause! : type;
  }
}

const seedsTo = (count: number): number[] => Array.from({ length: count }, (_, seed) => seed);

test('64 episodes whose openings take 2 s are open at once', async () => {
  const environment = await open(source({ variables: { RESET_SECONDS: '2' } }));
  await Promise.all(seedsTo(64).map((seed) => environment.reset(`e${seed}`, seed)));
  expect((await environment.task(0))['open']).toBe(64);
  const rewards = await Promise.all(seedsTo(64).map(async (seed) => (await environment.evaluate(`e${seed}`)).reward));
  expect(rewards).toEqual(seedsTo(64).map(() => 0.5));
}, 60_000);

test('what fails alone ends alone, with its cause', async () => {
  const by = { 2: 'never', 3: 'simulator', 4: 'judge', 5: 'raise', 6: 'two', 7: 'badly-named', 8: 'badly-counted' };
  const environment = await open(source({ variables: ways(by), seconds: seconds({ step: 2 }) }));
  const played = await Promise.all(seedsTo(20).map((seed) => play(environment, seed)));
  expect(played.slice(0, 6)).toEqual([0.5, 0.5, 'deadline', 'simulator', 'judge', 'raised']);
  expect(played.slice(6, 9)).toEqual(['raised', 'other', 'simulator']);
  expect(new Set(played.slice(9))).toEqual(new Set([0.5]));
  // The process forgets them.
  expect((await environment.task(0))['open']).toBe(0);
});

test('the time of an episode is that in its environment, over all of its steps', async () => {
  const environment = await open(
    source({ variables: { RESET_SECONDS: '1.5', ...ways({ 0: 'never' }) }, seconds: seconds({ episode: 2 }) }),
  );
  await environment.reset('e0', 0);
  await expect(environment.step('e0', [])).rejects.toMatchObject({
    taskCause: 'deadline',
    message: expect.stringContaining(
      'did not answer step within the 2 s of its whole episode (environment.seconds.episode).',
    ),
  });
  expect(await play(environment, 1)).toBe(0.5);
});

test.each([
  ['crash', 'EnvironmentDied'],
  ['garbage', 'BadOutput'],
  ['flood', 'BadOutput'],
  ['beats', 'OutputFlood'],
  ['silence', 'EnvironmentHung'],
])('a process that ends by %s is lost with its open episodes, and no task is blamed', async (way, type) => {
  const environment = await open(source({ variables: ways({ 1: way }), processes: 2 }), 1000);
  // The first process plays episodes 0 and 2, the second one 1 and 3.
  for (const seed of seedsTo(4)) await environment.reset(`e${seed}`, seed);
  const call = [{ name: 'add', arguments: {} }];
  const lost = { type: `Sandbox.${type}`, taskCause: null };
  await environment.step('e3', call);
  await expect(environment.step('e1', call)).rejects.toMatchObject(lost);
  await expect(environment.evaluate('e3')).rejects.toMatchObject(lost);
  expect((await environment.evaluate('e0')).reward).toBe(0.5);
  expect((await environment.evaluate('e2')).reward).toBe(0.5);
  // Another process takes its place.
  expect(await Promise.all(seedsTo(4).map((seed) => play(environment, seed + 10)))).toEqual([0.5, 0.5, 0.5, 0.5]);
});

test('all open episodes of a process that ends are lost, and so is a request that waits', async () => {
  const environment = await open(source({ variables: ways({ 1: 'crash', 2: 'never' }) }));
  for (const seed of seedsTo(4)) await environment.reset(`e${seed}`, seed);
  const waits = environment.step('e2', []);
  const crash = environment.step('e1', []);
  const lost = {
    type: 'Sandbox.EnvironmentDied',
    message: expect.stringContaining('ended with code 3'),
  };
  await expect(waits).rejects.toMatchObject(lost);
  await expect(crash).rejects.toMatchObject(lost);
  await environment.drop('e3');
  await expect(environment.step('e0', [])).rejects.toMatchObject(lost);
});

test.each(['crash', 'garbage', 'flood', 'beats', 'silence'])(
  'an episode that has its process for itself and ends it by %s has failed',
  async (way) => {
    const environment = await open(source({ variables: ways({ 1: way }), processes: 2 }), 1000);
    await environment.reset('e0', 0);
    expect(await play(environment, 1)).toBe('crash');
    // It had a companion, which is over.
    await environment.reset('other', 0);
    await environment.reset('again', 1);
    await environment.drop('other');
    await environment.drop('e0');
    await expect(environment.step('again', [])).rejects.toMatchObject({ taskCause: 'crash' });
  },
);

test('a process that beats is not silent, however long an answer takes', async () => {
  const environment = await open(source({ variables: { RESET_SECONDS: '2.5' } }), 1000);
  expect(await play(environment, 0)).toBe(0.5);
});

test('no process plays more episodes at a time than it may, and further ones wait', async () => {
  const environment = await open(source({ episodesPerProcess: 2, processes: 2 }));
  for (const seed of seedsTo(4)) await environment.reset(`e${seed}`, seed);
  let isOpen = false;
  const fifth = environment.reset('e4', 4).then(() => (isOpen = true));
  expect((await environment.task(0))['open']).toBe(2);
  expect(isOpen).toBe(false);
  await environment.drop('e1');
  await fifth;
  const sixth = environment.reset('e5', 5);
  const refused = expect(sixth).rejects.toMatchObject({ type: 'Sandbox.EnvironmentClosed' });
  await environment.close();
  await refused;
});

test('a turn has calls and text, an opening begins with the assistant, a task has its name', async () => {
  const environment = await open(source({}, { tasks: ['refund', 'exchange'] }));
  expect((await environment.reset('e', 1)).messages.map(({ role, content }) => [role, content])).toEqual([
    ['system', 'Add.'],
    ['assistant', 'Hello!'],
    ['user', 'Task exchange'],
  ]);
  const calls = [
    { name: 'add', arguments: {} },
    { name: 'add', arguments: {} },
  ];
  expect(await environment.step('e', calls, 'Both.')).toEqual({
    observations: ['add Both.', 'add Both.'],
    done: false,
  });
  expect(await environment.say('e', 'Bye.')).toEqual({ observations: ['you said Bye.'], done: false });
  expect(await environment.evaluate('e')).toEqual({
    reward: 0.5,
    diagnostics: {},
    parts: { db: 1, words: 0 },
    usage: { promptTokens: 10, completionTokens: 2 },
  });
  await environment.reset('dropped', 0);
  expect(await environment.drop('dropped')).toEqual({ promptTokens: 4, completionTokens: 1 });
  await expect(environment.reset('f', 2)).rejects.toMatchObject({ type: 'Sandbox.BadRequest' });
  await expect(environment.reference(0)).rejects.toThrow('has no reference solution of task 0');
});

test.each<[string, Partial<ProcessSource['launch']>, Partial<ProcessSource>, object]>([
  [
    'ends at once',
    { command: ['python3', '-c', 'raise SystemExit("no such package")'] },
    {},
    {
      type: 'Sandbox.StartFailed',
      message: expect.stringMatching(/no such package\n+It has not answered `hello`, the first request/),
    },
  ],
  ['says nothing', { command: ['sleep', '60'], seconds: seconds({ start: 1 }) }, {}, { type: 'Sandbox.StartFailed' }],
  ['speaks another version', { variables: { VERSION: '3' } }, {}, { type: 'Sandbox.BadReturn', retryable: false }],
  [
    'has other packages than before',
    {},
    { packages: 'desk==0.9' },
    { type: 'Sandbox.CommandRefused', retryable: false },
  ],
  [
    'does not exist',
    { command: ['./none.py'] },
    {},
    {
      type: 'Sandbox.CommandRefused',
      message: expect.stringMatching(
        /agent\.yaml: environment\.command: \.\/none\.py is not a program that can be run: there is no file \/.*none\.py\.$/,
      ),
    },
  ],
  [
    'is in no folder of programs, but beside agent.yaml',
    { command: ['server.py'] },
    {},
    { message: expect.stringContaining('none of this name in /usr/local/bin, /usr/bin, /bin. Write ./server.py for') },
  ],
  ['is a folder', { command: ['./.'] }, {}, { message: expect.stringMatching(/\/agent is no file\.$/) }],
  [
    'may not be executed',
    { command: ['./server.py'] },
    {},
    { message: expect.stringContaining('may not be executed. Use chmod +x, or begin with the program that reads it') },
  ],
  [
    'is made of other fields',
    { command: ['/nowhere/bin/python'] },
    { programFrom: { field: 'environment.venv', remedy: 'Make it.' } },
    { message: expect.stringMatching(/agent\.yaml: environment\.venv: .*no file \/nowhere\/bin\/python\. Make it\.$/) },
  ],
  [
    'lacks a secret',
    { secrets: ['DESK_KEY_THAT_IS_NOT_SET'] },
    {},
    {
      type: 'Sandbox.CommandRefused',
      message: expect.stringMatching(
        /agent\.yaml: environment\.secrets\.0: the variable DESK_KEY_THAT_IS_NOT_SET is not/,
      ),
    },
  ],
  ['has a NUL in a variable', { variables: { A: 'b\0--bind\0/\0/host' } }, {}, { type: 'Sandbox.CommandRefused' }],
  [
    'is longer than the system takes',
    { command: ['python3', 'x'.repeat(200_000)] },
    {},
    { type: 'Sandbox.CommandRefused', message: expect.stringContaining('E2BIG') },
  ],
  [
    'asks for a folder that is not there',
    { folders: ['/nowhere/at/all'] },
    {},
    {
      message: expect.stringContaining(
        'environment.folders.0: /nowhere/at/all cannot be shown to the command: it does not exist',
      ),
    },
  ],
  [
    'asks for a folder of all programs',
    { folders: ['/tmp'] },
    {},
    { message: expect.stringContaining('it belongs to many programs') },
  ],
])('a command that %s is told', async (_, launch, more, expected) => {
  await expect(open(source(launch, more))).rejects.toMatchObject(expected);
});

test('a program whose file lies in a folder that the jail does not show is told with that folder', async () => {
  const elsewhere = join(root, 'elsewhere');
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, 'run.sh'), '#!/bin/sh\nexec python3 server.py\n', { mode: 0o755 });
  const command = [join(elsewhere, 'run.sh')];
  await expect(open(source({ command }))).rejects.toThrow(`leads to ${elsewhere}/run.sh, which its jail does not show`);
  expect(await play(await open(source({ command, folders: [elsewhere] })), 0)).toBe(0.5);
});
