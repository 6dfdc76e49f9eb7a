// tier: jail
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printTasks } from '../../../activities/rollout/task-command';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-command-'));
  chmodSync(folder, 0o755);
  process.env['DESK_KEY'] = 'sk-the-desks';
  process.env['OTHER_KEY'] = 'sk-the-workers';
});
afterEach(() => {
  for (const name of ['DESK_KEY', 'OTHER_KEY', 'WHET_UNJAILED_ENVIRONMENTS']) delete process.env[name];
  rmSync(folder, { recursive: true });
});

const GOOD = `print('{"id": "a", "split": "train"}\\n{"id": "b", "split": "test"}')\n`;

/** Runs Python code as the command that prints the tasks of the agent in the folder. */
function print(code: string, { seconds = 60, signal = new AbortController().signal, program = 'python3' } = {}) {
  writeFileSync(join(folder, 'tasks.py'), `import os, subprocess, sys, time\n${code}`);
  const launch = {
    command: ['agent.sh'],
    agentFolder: folder,
    folders: [],
    secrets: ['DESK_KEY'],
    variables: { N: '2' },
  };
  const owner = { trust: 'owner', name: join(folder, 'agent.yaml'), agent: 'desk', launch } as const;
  const splits = { train: ['train'], heldOut: ['test'] };
  return printTasks(owner, { command: [program, 'tasks.py'], seconds, splits }, signal);
}

/** What is wrong with what it did. */
async function problem(code: string, options: { seconds?: number } = {}): Promise<string> {
  const read = await print(code, options);
  if (!('problems' in read)) throw new Error('It printed tasks.');
  return read.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
}

/** Programs on this machine with this word among their arguments. */
const running = (word: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false;
    }
  });

test('it starts in the folder of agent.yaml, with its variables and secrets and no other ones', async () => {
  const code = `
import json
said = [os.getcwd(), os.environ["N"], os.environ["DESK_KEY"], str(os.environ.get("OTHER_KEY"))]
for n, word in enumerate(said): print(json.dumps({"id": word, "split": "test" if n == 1 else "train"}))`;
  expect(await print(code)).toMatchObject({
    tasks: [{ id: folder }, { id: 'sk-the-desks' }, { id: 'None' }, { id: '2', range: 'heldOut' }],
  });
});

test('it can write nothing of the machine, and read no one else', async () => {
  const tried = [`open(${JSON.stringify(join(folder, 'new'))}, "w")`, `open("/proc/${process.pid}/environ")`];
  for (const attempt of tried)
    expect(await problem(attempt)).toMatch(/code 1, so there are no tasks.*(OSError|Error)/s);
  expect(existsSync(join(folder, 'new'))).toBe(false);
});

test.each([
  [
    'ends with another code',
    `${GOOD}sys.exit("no database")`,
    /ended with code 1, so there are no tasks\..*no database/,
  ],
  ['raises', 'raise KeyError("x")', /^environment\.tasks\.command: "python3 tasks\.py" ended with code 1.*KeyError/s],
  ['kills itself', `${GOOD}sys.stdout.flush(); os.kill(os.getpid(), 9)`, /ended with code 137/],
  ['prints no line', 'pass', /^environment\.tasks: what "python3 tasks\.py" printed has no line/],
  ['prints no JSON', `print("loading")\n${GOOD}`, /printed, line 1: is no JSON object/],
  ['prints an id twice', GOOD + GOOD, /line 3, id: "a" is also in line 1/],
  ['leaves a field out', `${GOOD}print('{"id": "c"}')`, /line 3, split: is missing/],
  ['prints bytes that are no text', `${GOOD}sys.stdout.flush(); os.write(1, b"\\xff\\xfe\\x00")`, /line 3: is no JSON/],
])('a command that %s gives no tasks', async (_, code, words) => {
  expect(await problem(code)).toMatch(words);
});

test('warnings on standard error are no lines', async () => {
  expect(await print(`print("a warning", file=sys.stderr)\n${GOOD}`)).toMatchObject({
    tasks: [{ id: 'a' }, { id: 'b' }],
  });
});

test.each([
  ['lines', 'while True: print("{}" + " " * 90)', /printed more than 50000000 bytes, and was killed/],
  ['one line', 'while True: sys.stdout.write("[" * 65536)', /printed more than 50000000 bytes, and was killed/],
  ['errors', 'while True: sys.stderr.write("x" * 65536)', /was killed, so there are no tasks/],
])('one that writes %s without end is killed', async (_, code, words) => {
  const said = await problem(code);
  expect(said).toMatch(words);
  expect(said.length).toBeLessThan(2_000);
});

test('one that does not end in time is killed, whatever it printed', async () => {
  expect(await problem(`${GOOD}sys.stdout.flush()\ntime.sleep(3600)`, { seconds: 1 })).toMatch(
    /had not ended after 1 s \(environment\.tasks\.seconds\)/,
  );
});

test('what it left running ends with it, and its tasks count', async () => {
  const mark = '3599.8123';
  const left = `subprocess.Popen(["sleep", "${mark}"], start_new_session=True)\n`;
  expect(await print(left + GOOD)).toMatchObject({ tasks: [{ id: 'a' }, { id: 'b' }] });
  // The kernel needs a moment to end the processes of the jail.
  while (running(mark).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
});

test('a cancelled activity ends it, before its start too', async () => {
  const mark = '3599.8124';
  const controller = new AbortController();
  const printing = print(`os.execvp("sleep", ["sleep", "${mark}"])`, { signal: controller.signal });
  while (running(mark).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  controller.abort(new Error('cancelled'));
  await expect(printing).rejects.toThrow('cancelled');
  while (running(mark).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await expect(print(GOOD, { signal: controller.signal })).rejects.toThrow('cancelled');
});

test('a program that is not there is named', async () => {
  await expect(print(GOOD, { program: './nowhere' })).rejects.toMatchObject({
    type: 'Sandbox.CommandRefused',
    message: expect.stringContaining('./nowhere is not a program') as string,
  });
});

test('as a plain process, something else that kills it says nothing about the tasks', async () => {
  process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'desk';
  await expect(print(`${GOOD}sys.stdout.flush(); os.kill(os.getpid(), 9)`)).rejects.toMatchObject({
    type: 'Sandbox.EnvironmentKilled',
    retryable: true,
  });
});
