// tier: jail (the built command as a process)
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = mkdtempSync(join(tmpdir(), 'whet-printed-'));
const folder = join(root, 'agent');
const agent = join(folder, 'agent.yaml');
beforeAll(() => {
  mkdirSync(folder);
  chmodSync(root, 0o755);
  mkdirSync(join(folder, 'weights'));
  writeFileSync(join(folder, 'weights', 'config.json'), '{}');
  copyFileSync(resolve('test/fakes/process_server.py'), join(folder, 'server.py'));
  writeFileSync(
    agent,
    'version: 1\nname: desk\nenvironment: { kind: process, command: [python3, server.py], ' +
      "tasks: { command: [python3, tasks.py] } }\nmodel: { name: base, path: weights, baseUrl: 'http://127.0.0.1:9/v1' }\n",
  );
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Lines that are tasks: `train` to learn from, and three to judge. */
const prints = (train: number, more = '') =>
  writeFileSync(
    join(folder, 'tasks.py'),
    `import json\nfor n in range(${train + 3}):\n` +
      `    print(json.dumps({"id": f"parcel {n}", "split": "test" if n < 3 else "train", "group": f"g{n}"}))\n${more}`,
  );

const whet = (...args: string[]) =>
  spawnSync(process.execPath, [resolve('dist/cli/main.js'), ...args], {
    env: { ...process.env, OPENAI_API_KEY: '', WHET_MODEL_API_KEY: '', WHET_HOME: join(root, 'home') },
    encoding: 'utf8',
  });

test('the dry run counts the tasks that the command prints', () => {
  prints(40);
  const { status, stdout } = whet('run', agent, '--dry-run');
  expect(stdout).toContain('The evaluation, 3 held-out tasks with');
  expect(stdout).toContain('Identification, 40 train tasks,');
  expect(stdout).toContain('Nothing but the command of environment.tasks was started.');
  expect(status).toBe(0);
});

test('validate plays them, and `--no-run` runs no command', () => {
  prints(40);
  expect(whet('validate', agent)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      /valid .*1 train and 1 held-out tasks can be played;.*\)\n.*model\.baseUrl.*\n$/,
    ) as string,
  });
  prints(2);
  expect(whet('validate', agent).stdout).toContain('environment.trainSeeds.count: 2, with collect.trials');
  prints(2, 'raise SystemExit(3)');
  const unread = whet('validate', agent, '--no-run');
  expect(unread.status).toBe(0);
  expect(unread.stdout).not.toContain('trainSeeds');
});

test('`whet env tasks` prints them in the order of their seeds', () => {
  prints(1);
  expect(whet('env', 'tasks', agent).stdout.split('\n')[0]).toBe('{"id":"parcel 3","split":"train","group":"g3"}');
});

test.each([
  ['run', agent, '--dry-run'],
  ['validate', agent],
])('whet %s refuses what are no tasks, as it refuses agent.yaml', (...args) => {
  prints(2, 'print("done")');
  expect(whet(...args)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(
      `${agent}: environment.tasks: what "python3 tasks.py" printed, line 6: is no JSON object.`,
    ) as string,
  });
  prints(2, 'raise SystemExit("\\x1b[31mno database")');
  const { status, stderr } = whet(...args);
  expect(status).toBe(2);
  expect(stderr).toMatch(/environment\.tasks\.command: "python3 tasks\.py" ended with code 1, so .*no database/);
  expect(stderr).not.toContain('\u001b[31m');
});
