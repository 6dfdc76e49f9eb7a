// Tier: unit.
import { join } from 'node:path';
import { environmentSchema, playedAs } from '../../../../contracts/config/environment-kinds';
import type { ProcessSection } from '../../../../contracts/config/environment-kinds/process';
import { projectRoot } from '../../../../contracts/project-root';

const expanded = (section: object) => playedAs(environmentSchema.parse(section));
const library = join(projectRoot(), 'targets');
const python = '/venvs/a/bin/python';

describe('tau2', () => {
  const tau2 = { kind: 'tau2', venv: '/venvs/a', domain: 'retail' };

  test('is a process with the model that plays the user, and its key', () => {
    const user = { baseUrl: 'http://127.0.0.1:8000/v1', model: 'user-7b', apiKeyEnv: 'USER_KEY' };
    expect(expanded({ ...tau2, user, episodesPerProcess: 8 })).toMatchObject({
      kind: 'process',
      command: [
        ...[
          python,
          '-m',
          'whetstone_process.presets.tau2',
          '--domain',
          'retail',
          '--step-seconds',
          '120',
          '--user-url',
        ],
        ...['http://127.0.0.1:8000/v1', '--user-model', 'user-7b', '--user-temperature', '0'],
        ...['--user-key-variable', 'USER_KEY'],
      ],
      folders: ['/venvs/a', library],
      secrets: ['USER_KEY'],
      variables: { PYTHONPATH: library },
      tasks: 'tasks.jsonl',
      splits: { train: ['train'], heldOut: ['test', 'heldOut', 'held-out'] },
      episodesPerProcess: 8,
      maxTurns: 100,
    });
  });

  test('takes a scripted user and a file of tasks', () => {
    const { command, secrets } = expanded({
      ...tau2,
      user: { script: 'gold' },
      taskFile: '/tasks/corrected.json',
    }) as { command: string[]; secrets: string[] };
    expect(command.slice(5)).toEqual([
      ...['--task-file', '/tasks/corrected.json', '--step-seconds', '120', '--user-script', 'gold'],
    ]);
    expect(secrets).toEqual([]);
  });

  test.each([
    ['another domain', { domain: 'bank', user: { script: 'gold' } }],
    ['no user', {}],
    ['a key in the address', { user: { baseUrl: 'http://a:b@host/v1', model: 'm' } }],
    ['a user with both', { user: { script: 'gold', model: 'm' } }],
  ])('refuses %s', (_name, fields) => {
    expect(environmentSchema.safeParse({ ...tau2, ...fields }).success).toBe(false);
  });
});

describe('toolsandbox', () => {
  const toolsandbox = {
    kind: 'toolsandbox',
    venv: '/venvs/a',
    clone: '/clones/ToolSandbox',
    user: { script: 'leaves' },
  };

  test('is a pool of processes, which play one episode at a time and read the clone', () => {
    const user = { baseUrl: 'http://127.0.0.1:8000/v1', model: 'user-7b', apiKeyEnv: 'USER_KEY', temperature: 0.5 };
    expect(expanded({ ...toolsandbox, user, processes: 8, seconds: { step: 30 } })).toMatchObject({
      kind: 'process',
      command: [
        ...[python, '-m', 'whetstone_process.presets.toolsandbox', '--scenarios', 'all'],
        ...['--step-seconds', '30', '--user-url', 'http://127.0.0.1:8000/v1', '--user-model', 'user-7b'],
        ...['--user-temperature', '0.5', '--user-key-variable', 'USER_KEY'],
      ],
      folders: ['/venvs/a', library, '/clones/ToolSandbox'],
      secrets: ['USER_KEY'],
      variables: { PYTHONPATH: `${library}:/clones/ToolSandbox` },
      tasks: 'tasks.jsonl',
      processes: 8,
      episodesPerProcess: 1,
    });
  });

  test('gets the key of rapidapi.com only where its scenarios are wanted', () => {
    const asked = (fields: object) => expanded({ ...toolsandbox, scenarios: 'base', ...fields }) as ProcessSection;
    expect(asked({})).toMatchObject({ secrets: [] });
    const { command, secrets } = asked({ rapidApi: true });
    const words = ['--scenarios', 'base', '--with-network', '--step-seconds', '120', '--user-script', 'leaves'];
    expect(command.slice(3)).toEqual(words);
    expect(secrets).toEqual(['RAPID_API_KEY']);
  });

  test.each([
    ['no clone', { clone: undefined }],
    ['several episodes in a process', { episodesPerProcess: 2 }],
    ['a script that it does not have', { user: { script: 'gold' } }],
  ])('refuses %s', (_name, fields) => {
    expect(environmentSchema.safeParse({ ...toolsandbox, ...fields }).success).toBe(false);
  });
});

test('openenv is a process whose tasks are seeds', () => {
  const seeds = { trainSeeds: { start: 0, count: 10 }, heldOutSeeds: { start: 100, count: 10 } };
  const section = { kind: 'openenv', venv: '/venvs/a', url: 'http://127.0.0.1:9000', textField: 'message', ...seeds };
  const played = expanded(section);
  expect(played).toMatchObject({
    command: [
      ...[python, '-m', 'whetstone_process.presets.openenv', '--url', 'http://127.0.0.1:9000'],
      ...['--reward', 'last', '--text-field', 'message'],
    ],
    ...seeds,
  });
  expect('tasks' in played && played.tasks).toBeUndefined();
});

describe('verifiers', () => {
  const seeds = { trainSeeds: { start: 0, count: 3 }, heldOutSeeds: { start: 3, count: 2 } };
  const verifiers = { kind: 'verifiers', venv: '/venvs/a', taskset: 'sums-v1', ...seeds };

  test('is a program that plays one task of a taskset', () => {
    const more = {
      options: { num_tasks: 5 },
      folder: '/tasksets',
      secrets: ['JUDGE_KEY'],
      variables: { HF_HOME: '/hf' },
    };
    const played = expanded({ ...verifiers, ...more });
    expect(played).toMatchObject({
      kind: 'program',
      command: [
        ...[python, '-m', 'whetstone_process.presets.verifiers', '--taskset', 'sums-v1'],
        ...['--options', '{"num_tasks":5}'],
      ],
      folders: ['/venvs/a', library, '/tasksets'],
      secrets: ['JUDGE_KEY'],
      variables: { HF_HOME: '/hf', PYTHONPATH: `${library}:/tasksets` },
      memoryPerEpisode: 1024,
      maxTurns: 100,
      ...seeds,
    });
    expect('score' in played || 'tasks' in played).toBe(false);
  });

  test.each([
    ['no taskset', { taskset: undefined }],
    ['no held-out tasks', { heldOutSeeds: undefined }],
  ])('refuses %s', (_name, fields) => {
    expect(environmentSchema.safeParse({ ...verifiers, ...fields }).success).toBe(false);
  });
});
