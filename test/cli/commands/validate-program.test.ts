// tier: integration (the built command as a process)
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// A program may not see the state of whet, and the user of the jail must be able to read the agent's folder.
const [folder, home] = ['agent', 'home'].map((name) => mkdtempSync(join(tmpdir(), `whet-validate-${name}-`))) as [
  string,
  string,
];
chmodSync(folder, 0o755);
// All that is looked at of a model.
mkdirSync(join(folder, 'weights'));
writeFileSync(join(folder, 'weights', 'config.json'), '{}');
afterAll(() => [folder, home].forEach((path) => rmSync(path, { recursive: true, force: true })));

/** Asks the model once, with `asks` in its request besides the message, and goes on with `then`. */
const program = (then: string, asks = '') => `import json, os, sys, urllib.request
task = json.load(sys.stdin)
request = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": task["task_id"]}]${asks}}
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(url, json.dumps(request).encode(), headers)) as response:
    said = json.load(response)["choices"][0]["message"]["content"]
${then}
`;

/** Nothing listens at the address of its model. */
function validate(source: string, { more = '', flags = [] as string[], variables = {} } = {}) {
  const agent = join(folder, 'agent.yaml');
  writeFileSync(join(folder, 'agent.py'), source);
  writeFileSync(join(folder, 'tasks.jsonl'), '{"id": "red", "split": "train"}\n{"id": "blue", "split": "test"}\n');
  writeFileSync(
    agent,
    `version: 1\nname: desk\nenvironment: { kind: program, command: [python3, agent.py], tasks: tasks.jsonl${more} }\n` +
      "model: { name: base, path: weights, baseUrl: 'http://127.0.0.1:9/v1' }\n",
  );
  const main = resolve('dist/cli/main.js');
  const env = { ...process.env, OPENAI_API_KEY: '', WHET_MODEL_API_KEY: '', WHET_HOME: home, ...variables };
  return spawnSync(process.execPath, [main, 'validate', agent, ...flags], { env, encoding: 'utf8' });
}

const PLAYED = 'played task red with a model that only says "I am sorry, but I cannot help with this.": ';
const RESULT =
  'A result is {"reward": 0..1}, such as {"reward": 1}, as the last line of standard output, or in the file that ' +
  'RESULT_FILE names.';

test('validate plays one task of a program to its end, and asks no model', () => {
  const good = validate(program('print(json.dumps({"reward": 0.25 if said.startswith("I am sorry") else 1}))'));
  expect(good.stdout).toContain(`\n${PLAYED}reward 0.25\n`);
  expect(good.status).toBe(0);
  const { stdout } = validate(program('print(json.dumps({"reward": 0}))'), { flags: ['--json'] });
  expect(JSON.parse(stdout)).toMatchObject({ program: { taskId: 'red', reward: 0, failure: null } });
});

test('validate refuses a program that prints no result', () => {
  const silent = validate(program(''));
  expect(silent.stderr).toContain(
    `${join(folder, 'agent.yaml')}: environment.command: ${PLAYED}no result (no-result). The program printed no result.`,
  );
  expect(silent.stderr).toContain(RESULT);
  expect(silent.stdout).toBe('');
  expect(silent.status).toBe(2);
  const wrong = validate(program('print("done")'));
  expect(wrong.stderr).toContain('The result is not JSON.');
  expect(wrong.status).toBe(2);
});

test('what stops a program before its first request is told by its field', () => {
  const { status, stderr } = validate('raise SystemExit("no key")');
  expect(stderr).toContain(
    `${join(folder, 'agent.yaml')}: environment.command: the command fails before its first move: The program ended`,
  );
  expect(stderr).toContain('no key');
  expect(status).toBe(2);
});

test('validate shows the words of a program that crashes after the answer, line by line', () => {
  const { status, stderr } = validate(program('print(undefined_name)'));
  expect(stderr).toContain(`${PLAYED}no result (exit). The program ended with code 1. Its last words:`);
  expect(stderr).toMatch(/\n +Traceback /);
  expect(stderr).toMatch(/\n +print\(undefined_name\)\n(?:.*\n)*? +NameError: name 'undefined_name' is not defined\n/);
  expect(stderr).toContain(RESULT);
  expect(status).toBe(2);
});

test('validate refuses a program that misses its deadline, and a score that is no result', () => {
  const slow = validate(program('import time; time.sleep(600)'), { more: ', seconds: { episode: 2 }' });
  expect(slow.stderr).toContain('no result (deadline). The program took more than 2 s, besides waits for the model.');
  expect(slow.status).toBe(2);
  const unscored = validate(program(''), { more: ', score: [no-such-judge]' });
  expect(unscored.stderr).toContain(
    `whet: ${join(folder, 'agent.yaml')}: environment.score: no-such-judge is not a program that can be run: there is`,
  );
  expect(unscored.status).toBe(2);
  const judged = validate(program(''), { more: ', score: [python3, -c, "print(7)"]' });
  expect(judged.stderr).toContain(`environment.score: ${PLAYED}no result (judge). The result is wrong`);
  expect(judged.stderr).not.toContain('RESULT_FILE');
  expect(judged.status).toBe(2);
});

test('validate says what it waits for, and --seconds waits less than a run', () => {
  const { status, stderr, stdout } = validate(program('import time; time.sleep(600)'), {
    flags: ['--seconds', '8', '--json'],
  });
  const agent = join(folder, 'agent.yaml');
  expect(stderr).toContain(
    `s: ${agent}: environment.command: the command is waited for, while task 0 of environment.trainSeeds is played. ` +
      'It has 8 s (--seconds). `whet validate --no-run` checks agent.yaml alone.\n',
  );
  const { message } = (JSON.parse(stdout) as { error: { message: string } }).error;
  expect(message).toContain('no result (deadline). The program took more than 8 s');
  expect(message).toContain('A run allows it 1800 s (environment.seconds.episode): let it have more here.');
  expect(status).toBe(2);
});

test('validate only warns where the program had asked for an answer that is no sentence', () => {
  const { status, stdout } = validate(
    program('print(json.loads(said))', ', "response_format": {"type": "json_object"}'),
  );
  expect(stdout).toContain(`${PLAYED}no result (exit).`);
  expect(stdout).toContain('The program asked for an answer of another form (response_format), which this model does');
  expect(status).toBe(0);
});

test('validate plays what a run would refuse, and says so with the entry that would allow it', () => {
  const good = program('print(json.dumps({"reward": 0}))');
  const policy = join(folder, 'policy.yaml');
  const variables = { DESK_KEY: 'k', WHET_POLICY: '' };
  const refused = validate(good, { more: ', secrets: [DESK_KEY]', variables });
  expect(refused.stdout).toContain(
    `${join(folder, 'agent.yaml')}: a worker with the variables of this shell refuses a run. ` +
      'environment.secrets.0: "DESK_KEY" is not allowed. An operator allows it with the line ' +
      'agents: { "desk": { secrets: ["DESK_KEY"] } }\nThis worker has no policy, so it allows nothing.',
  );
  expect(refused.status).toBe(0);
  writeFileSync(policy, 'agents: { "desk": { secrets: ["DESK_KEY"] } }\n');
  const allowed = validate(good, { more: ', secrets: [DESK_KEY]', variables: { ...variables, WHET_POLICY: policy } });
  expect(allowed.stdout).not.toContain('refuses a run');
  const elsewhere = validate(good, { variables: { TEMPORAL_ADDRESS: '127.0.0.1:1', WHET_OWN_FOLDERS: '' } });
  expect(elsewhere.stdout).toMatch(
    /refuses a run\. environment\.command: "\/usr\/bin\/python3 agent\.py" is not allowed/,
  );
});

test('--no-run plays nothing', () => {
  const crashing = program('print(undefined_name)');
  expect(validate(crashing).status).toBe(2);
  const { status, stdout } = validate(crashing, { flags: ['--no-run'] });
  expect(stdout).toContain('agent.yaml: valid (agent desk)\n');
  expect(stdout).not.toContain('played');
  expect(status).toBe(0);
});
