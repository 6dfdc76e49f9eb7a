// tier: integration (the built command as a process)
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { RestartingEnvironment } from '../../../activities/rollout/restarting-environment';
import { openEnvironment } from '../../../sandbox';
import { fixture } from '../../activities/run-fixture';

const folder = mkdtempSync(join(tmpdir(), 'whet-validate-'));
// All that is looked at of a model.
mkdirSync(join(folder, 'weights'));
writeFileSync(join(folder, 'weights', 'config.json'), '{}');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Keys of whoever runs the tests do not count. */
const NO_KEYS = { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', WHET_MODEL_API_KEY: '', WHET_KEY_ENDPOINTS: '' };

/** `notify` is text of agent.yaml, and `variables` are set besides those of the test. */
function validate(environment: string, ...flags: string[]): ReturnType<typeof validateWith> {
  return validateWith(environment, '', {}, ...flags);
}

function validateWith(
  environment: string,
  notify: string,
  variables: NodeJS.ProcessEnv,
  ...flags: string[]
): { status: number | null; stdout: string; stderr: string } {
  const agent = join(folder, 'agent.yaml');
  const ranges = 'trainSeeds: { start: 0, count: 40 }, heldOutSeeds: { start: 1000, count: 40 }';
  writeFileSync(
    agent,
    `version: 1\nname: desk\nenvironment: { path: ${environment}, ${ranges} }\nmodel: { name: base, path: weights, baseUrl: 'http://127.0.0.1:9/v1' }\n${notify}`,
  );
  return spawnSync(process.execPath, [resolve('dist/cli/main.js'), 'validate', agent, ...flags], {
    env: { ...process.env, ...NO_KEYS, WHET_HOME: join(folder, 'home'), ...variables },
    encoding: 'utf8',
  });
}

test('validate imports the environment and plays train and held-out tasks', () => {
  const { status, stdout } = validate(fixture('post_office.py'));
  expect(stdout).toMatch(
    /valid \(agent desk, its environment starts; the reference solutions of 8 train and 8 held-out tasks succeed; tools: \w+.*\)\n.*\n$/,
  );
  expect(status).toBe(0);
  // Nothing listens at the address of its model: a run would wait for it, and the file is valid all the same.
  const down = `${join(folder, 'agent.yaml')}: model.baseUrl: the model server at http://127.0.0.1:9/v1 does not answer`;
  expect(stdout).toContain(`\n${down} this machine (ECONNREFUSED).`);
  expect(validate(fixture('post_office.py'), '--no-run').stdout).not.toContain('does not answer');
  const { tasks } = JSON.parse(validate(fixture('post_office.py'), '--json').stdout) as { tasks: { seed: number }[] };
  expect(tasks).toHaveLength(16);
  expect(tasks[1]).toMatchObject({ seed: 1000, range: 'heldOutSeeds', reward: 1, idleReward: 0 });
});

/** Validates the parcel desk with another text in the place of one. */
function validateChanged(name: string, from: string, to: string) {
  const file = join(folder, name);
  const source = readFileSync(fixture('parcel_desk.py'), 'utf8');
  if (!source.includes(from)) throw new Error(`The fixture does not contain ${from}`);
  writeFileSync(file, source.replace(from, to));
  return { file, ...validate(file) };
}

test('validate finds what only shows when a task is played', () => {
  const raising = validateChanged('raising.py', '        weighed, reward', '        1 / 0\n        weighed, reward');
  expect(raising.stderr).toMatch(
    /raising\.py fails while task 0 of environment\.trainSeeds is played: .*ZeroDivisionError/s,
  );
  expect(raising.status).toBe(2);
});

test('validate refuses a reference solution that does not succeed, whichever task it is of', () => {
  const all = validateChanged('low.py', '(1.0 if weighed else 0.3)', '(0.9 if weighed else 0.3)');
  expect(all.status).toBe(2);
  expect(all.stdout).toBe('');
  expect(all.stderr).toContain(
    `agent.yaml: environment.path: reference solutions of ${all.file} earn less than environment.successReward (1) ` +
      'in 16 of 16 tasks tried:\n',
  );
  expect(all.stderr).toMatch(
    /task 0 of environment\.trainSeeds earns 0\.9; played: weigh\(\{"parcel":"P\d+"\}\) -> "\d+ g", send\(.*\) -> "sent"\n/,
  );
  expect(all.stderr).toContain('  and 13 more\n');
  // 1039 is the last held-out seed; only its solution is wrong.
  const late = validateChanged('late.py', '"skill_calls": [1]}', '"skill_calls": [1], "late": seed == 1039}').file;
  const source = readFileSync(late, 'utf8');
  writeFileSync(
    late,
    source.replace(
      'return [\n            {"name": "weigh"',
      'return [] if task["late"] else [\n            {"name": "weigh"',
    ),
  );
  const { status, stderr } = validate(late);
  expect(stderr).toMatch(
    /in 1 of 16 tasks tried:\n +task 1039 of environment\.heldOutSeeds earns 0; played: nothing\n/,
  );
  expect(status).toBe(2);
});

test('validate warns where an agent that says nothing succeeds', () => {
  const { status, stdout } = validateChanged('gift.py', 'weighed, reward = False, 0.0', 'weighed, reward = False, 1.0');
  expect(status).toBe(0);
  expect(stdout).toMatch(/agent\.yaml: environment\.path: an agent that says nothing succeeds in 16 of 16 tasks tried/);
  expect(stdout).toContain('such as task 0 of environment.trainSeeds (reward 1)');
});

test('validate warns where a planted deficit has an id that no task names', () => {
  const truth = (id: string) => `groundTruth: { planted: [weigh-first], decoys: [${id}] }\n`;
  const misspelt = validateWith(fixture('parcel_desk.py'), truth('wiegh-first'), {});
  expect(misspelt.stdout).toContain(
    "agent.yaml: groundTruth.decoys[0]: 'wiegh-first': in no diagnostics of the 16 tasks tried, which name weigh-first.",
  );
  expect(misspelt.status).toBe(0);
  expect(validateWith(fixture('parcel_desk.py'), truth('weigh-first'), {}).stdout).not.toContain('groundTruth');
});

test('validate says nothing of planted deficits where no task is judged: only the program plays it', () => {
  const agent = resolve('examples/orders-desk/agent.program.yaml');
  const main = resolve('dist/cli/main.js');
  const env = { ...process.env, ...NO_KEYS, WHET_HOME: join(folder, 'home') };
  const { stdout, status } = spawnSync(process.execPath, [main, 'validate', agent], { env, encoding: 'utf8' });
  expect(stdout).toContain('1 train and 1 held-out tasks can be played');
  expect(stdout).not.toContain('groundTruth');
  expect(status).toBe(0);
});

test('validate warns of settings with which a run cannot succeed: too few turns, too few rollouts', () => {
  const turns = validate(`${fixture('parcel_desk.py')}, maxTurns: 1`);
  expect(turns.stdout).toContain(
    'agent.yaml: environment.maxTurns: 1; the reference solutions of 16 of 16 tasks tried have more moves, such as ' +
      'task 0 of environment.trainSeeds with 2.',
  );
  const rollouts = (least: number) =>
    validateWith(fixture('parcel_desk.py'), `collect: { trials: 1 }\nidentify: { minEachOutcome: ${least} }\n`, {})
      .stdout;
  expect(rollouts(21)).toContain(
    'agent.yaml: environment.trainSeeds.count: 40, with collect.trials 1: a run collects 40 rollouts, and contrasts at ' +
      'least 21 successes with as many failures (identify.minEachOutcome).',
  );
  expect(rollouts(20)).not.toContain('minEachOutcome');
});

test('validate refuses tasks that differ in another process', () => {
  const fifty = '{str(n) for n in range(50)}';
  const { status, stderr } = validateChanged(
    'ordered.py',
    'random.Random(seed)',
    `random.Random(list(${fifty})[seed % 50])`,
  );
  expect(stderr).toMatch(/ordered\.py is another one in another process.*: its opening differs\. Let generate_task/);
  expect(status).toBe(2);
});

test('validate refuses tasks that change, and warns where held-out tasks are train tasks', () => {
  const changed = (name: string, seed: string) => {
    const file = join(folder, name);
    const source = readFileSync(fixture('parcel_desk.py'), 'utf8');
    writeFileSync(file, source.replaceAll('random.Random(seed)', `random.Random(${seed})`));
    return validate(file);
  };
  const drawn = changed('drawn.py', '');
  expect(drawn.stderr).toMatch(
    /drawn\.py is another one when it is made again: its opening differs\. Let generate_task, reset,/,
  );
  expect(drawn.status).toBe(2);
  const repeated = changed('repeated.py', 'seed % 1000');
  expect(repeated.stdout).toMatch(
    /environment\.heldOutSeeds: 8 of the held-out tasks tried are train tasks as well, such/,
  );
  expect(repeated.status).toBe(0);
});

test('validate names file, line and exception of an environment that cannot be imported, and --no-run leaves it out', () => {
  const broken = join(folder, 'broken.py');
  writeFileSync(broken, 'import json\nimport no_such_module\nclass Environment: pass\n');
  const { status, stderr } = validate(broken);
  expect(stderr).toContain(`environment.path: ${broken} fails before its first move: `);
  expect(stderr).toContain(
    "No module named 'no_such_module' (an environment is one file and has Python's standard library, no other packages)",
  );
  expect(stderr).toMatch(/:2\b|line 2/);
  expect(status).toBe(2);
  const alone = validate(broken, '--no-run');
  expect(alone.stdout).toMatch(/valid \(agent desk\)/);
  expect(alone.status).toBe(0);
});

test('a run does not try again to import an environment that cannot be imported', async () => {
  const source = {
    source: 'import no_such_module\nclass Environment: pass\n',
    trust: 'owner' as const,
    name: 'broken.py',
  };
  const restarting = new RestartingEnvironment(openEnvironment, source);
  await expect(restarting.running()).rejects.toMatchObject({
    type: 'Environment.Failed',
    nonRetryable: true,
    message: expect.stringContaining("No module named 'no_such_module'"),
  });
  await restarting.close();
});

test('validate says in a sentence where notices are not signed, and how to sign them', () => {
  const environment = fixture('post_office.py');
  const said = (notify: string, variables: NodeJS.ProcessEnv, ...flags: string[]) => {
    const { status, stdout } = validateWith(environment, notify, variables, '--no-run', ...flags);
    expect(status).toBe(0);
    return stdout;
  };
  const webhook = 'notify: { webhook: "https://hooks.example.org/x", keyVariable: WHET_WEBHOOK_SECRET_DESK }\n';
  const sentence = /not signed, because WHET_WEBHOOK_SECRET_DESK is not set here: to sign them, set it to a secret/;
  expect(said(webhook, { WHET_WEBHOOK_SECRET: 'of another agent' })).toMatch(sentence);
  expect(JSON.parse(said(webhook, {}, '--json'))).toMatchObject({ warning: expect.stringMatching(sentence) as string });
  expect(said('', { WHET_WEBHOOK_URL: 'https://hooks.example.org/y' })).toContain(
    'Notices to WHET_WEBHOOK_URL are not',
  );
  expect(said(webhook, { WHET_WEBHOOK_SECRET_DESK: 'secret' })).not.toContain('signed');
  expect(said('', {})).not.toContain('signed');
});

test("validate says what the model's server must give where tokens are to be kept", () => {
  const said = (yaml: string) => validateWith(fixture('post_office.py'), yaml, {}, '--no-run').stdout;
  expect(said('collect: { tokens: true }\n')).toContain(
    'collect.tokens: the server at http://127.0.0.1:9/v1 must take return_token_ids, as vLLM does.',
  );
  expect(said('collect: { tokens: false }\n')).not.toContain('return_token_ids');
});

test('validate says that a worker would not send its key to an analyst or a model', () => {
  const said = (yaml: string, variables: NodeJS.ProcessEnv) => {
    const { status, stdout } = validateWith(fixture('post_office.py'), yaml, variables, '--no-run');
    expect(status).toBe(0);
    return stdout;
  };
  const analyst = 'analyst: { baseUrl: "https://analyst.example/v1" }\n';
  const refused =
    /refuses a run: analyst\.baseUrl is https:\/\/analyst\.example, and the worker's OPENAI_API_KEY belongs to /;
  const key = { OPENAI_API_KEY: 'sk-x' };
  expect(said(analyst, key)).toMatch(refused);
  expect(said(analyst, key)).toContain(
    'belongs to https://api.openai.com/v1. If that server may have the key, name it in',
  );
  expect(said(analyst, { ...key, OPENAI_BASE_URL: 'https://other.example/v1' })).toMatch(refused);
  expect(said(analyst, { ...key, OPENAI_BASE_URL: 'https://analyst.example/v2' })).not.toContain('refuses a run');
  expect(said(analyst, { ...key, WHET_KEY_ENDPOINTS: 'x, https://analyst.example' })).not.toContain('refuses a run');
  expect(said(analyst, {})).not.toContain('refuses a run');
  expect(said('', key)).not.toContain('refuses a run');
  expect(said('', { WHET_MODEL_API_KEY: 'k' })).toMatch(
    /refuses a run: model\.baseUrl is http:\/\/127\.0\.0\.1:9, .*WHET_MODEL_API_KEY/,
  );
});

test('model.path must hold a model where a run would need it, and is warned of where workers may be elsewhere', () => {
  const agent = join(folder, 'local-model.yaml');
  const validateModel = (path: string, address = '') => {
    const ranges = 'trainSeeds: { start: 0, count: 40 }, heldOutSeeds: { start: 1000, count: 40 }';
    writeFileSync(
      agent,
      `version: 1\nname: desk\nenvironment: { path: ${fixture('post_office.py')}, ${ranges} }\nmodel: { name: base, path: ${path} }\n`,
    );
    return spawnSync(process.execPath, [resolve('dist/cli/main.js'), 'validate', agent, '--no-run'], {
      env: { ...process.env, WHET_HOME: join(folder, 'home'), TEMPORAL_ADDRESS: address },
      encoding: 'utf8',
    });
  };
  const missing = validateModel('nothere');
  expect(missing.status).toBe(2);
  expect(missing.stderr).toContain(
    `${agent}: model.path: ${join(folder, 'nothere')} does not exist, so a run would end in its first check. Name the`,
  );
  expect(missing.stderr).toContain('`whet run --until identify` reads no weights.');
  expect(missing.stderr).toContain('All else is valid (agent desk).');
  mkdirSync(join(folder, 'model'));
  expect(validateModel('model')).toMatchObject({ status: 2, stderr: expect.stringContaining('has no config.json,') });
  expect(validateModel(join(folder, 'model')).status).toBe(2);
  const here = validateModel('/models/of/the/cluster');
  expect(here.stderr).toContain(`${agent}: model.path: /models/of/the/cluster does not exist`);
  expect(here.status).toBe(2);
  const elsewhere = validateModel('/models/of/the/cluster', 'temporal.example:7233');
  expect(elsewhere.status).toBe(0);
  expect(elsewhere.stdout).toContain('model.path: /models/of/the/cluster is not on this machine.');
  writeFileSync(join(folder, 'model', 'config.json'), '{}');
  expect(validateModel('model')).toMatchObject({ status: 0, stdout: expect.not.stringContaining('model.path') });
});

test('validate warns where model.path is not set, and the model is served by another', () => {
  const agent = join(folder, 'no-path.yaml');
  const ranges = 'trainSeeds: { start: 0, count: 40 }, heldOutSeeds: { start: 1000, count: 40 }';
  writeFileSync(
    agent,
    `version: 1\nname: desk\nenvironment: { path: ${fixture('post_office.py')}, ${ranges} }\n` +
      "model: { name: base, baseUrl: 'http://127.0.0.1:9/v1' }\n",
  );
  const { status, stdout } = spawnSync(process.execPath, [resolve('dist/cli/main.js'), 'validate', agent, '--no-run'], {
    env: { ...process.env, WHET_HOME: join(folder, 'home') },
    encoding: 'utf8',
  });
  expect(stdout).toContain(`${agent}: model.path is not set. A run ends in its first check without`);
  expect(status).toBe(0);
});

test('a benchmark without its virtual environment is told by its field, with the command that makes one', () => {
  const agent = join(folder, 'tau2.yaml');
  writeFileSync(join(folder, 'tasks.jsonl'), '{"id": "red", "split": "train"}\n{"id": "blue", "split": "test"}\n');
  writeFileSync(
    agent,
    'version: 1\nname: desk\nenvironment: { kind: tau2, domain: retail, venv: /nowhere, user: { script: gold } }\n' +
      "model: { name: base, path: weights, baseUrl: 'http://127.0.0.1:9/v1' }\n",
  );
  const { status, stderr } = spawnSync(process.execPath, [resolve('dist/cli/main.js'), 'validate', agent], {
    env: { ...process.env, WHET_HOME: join(folder, 'home') },
    encoding: 'utf8',
  });
  expect(stderr).toContain(`whet: ${agent}: environment.venv: /nowhere/bin/python is not a program that can be run: `);
  expect(stderr).toContain('`whet env add tau2` makes a virtual environment and prints its path.');
  expect(status).toBe(2);
});
