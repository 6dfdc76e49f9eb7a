// tier: unit
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentSpecError, loadAgentSpec } from '../../loaders/agent-spec';
import { loadGatewayConfig } from '../../loaders/gateway-config';

const folder = mkdtempSync(join(tmpdir(), 'whet-spec-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, 'env.py'), '');

const good = `version: 1
name: desk
environment: { path: env.py, trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 100 } }
model: { name: base, baseUrl: 'http://127.0.0.1:1/v1' }
`;

const problemsOf = (text: string): string => {
  const file = join(folder, 'agent.yaml');
  writeFileSync(file, text);
  try {
    loadAgentSpec(file);
  } catch (error) {
    if (error instanceof AgentSpecError) return error.message.replaceAll(file, 'agent.yaml');
    throw error;
  }
  return '';
};

test('a good file is read with its defaults', () => {
  expect(problemsOf(good)).toBe('');
  expect(loadAgentSpec(join(folder, 'agent.yaml'))).toMatchObject({ seed: 1, training: { rank: 32, iterations: 40 } });
});

test.each([
  [
    'an unknown field',
    `${good}training: { rnk: 8 }\n`,
    /agent\.yaml: training\.rnk: unknown field\. Did you mean rank\? Known here: backend, kubernetes, rank, alpha, .*iterations, /,
  ],
  [
    'an unknown field at the top',
    `${good}colour: red\n`,
    /agent\.yaml: colour: unknown field\. Known here: version, name, /,
  ],
  [
    'a text in the place of a list',
    good.replace('path: env.py', 'command: python agent.py, kind: process'),
    /environment\.command: .*Allowed: a list, such as \[one, two\]\./,
  ],
  [
    'an empty list in the place of a command',
    good.replace('path: env.py', 'command: [], kind: process'),
    /environment\.command: \[\] is not allowed\. Allowed: a list that is not empty\./,
  ],
  [
    'a misspelt word',
    good.replace('path: env.py', 'command: [run], kind: programm'),
    /environment\.kind: "programm" is not allowed\. Did you mean "program"\? Allowed: "module", "process", /,
  ],
  [
    'a field of another kind, where the kind is left out',
    good.replace('path: env.py', 'command: [run]'),
    /environment\.command: unknown field\. It is one of kind process, program, and kind is not set\. Known here: kind, /,
  ],
  [
    'a field of another kind than the one that is set',
    good.replace('path: env.py', 'kind: module, path: env.py, domain: retail'),
    /environment\.domain: unknown field\. It is one of kind tau2, toolsandbox\. Known here: kind, |one of kind tau2\. /,
  ],
  [
    'no tasks at all',
    good.replace(/environment: .*/, 'environment: { kind: program, command: [run] }'),
    /environment\.trainSeeds: is missing\. Allowed: the fields start, count; or `tasks`, a file of named tasks, in place/,
  ],
  [
    'fields of one of several forms',
    good.replace(
      /environment: .*/,
      'environment: { kind: tau2, domain: retail, venv: v, user: { model: m }, tasks: tasks.jsonl }',
    ),
    /environment\.user\.baseUrl: is missing\. Allowed: a text\./,
  ],
  [
    'a sampler that needs an address',
    `${good.replace(/, baseUrl: '[^']*'/, ', path: .')}training: { sampler: vllm }\n`,
    /training\.samplerUrl: .*Sampler vllm needs the address of the server, such as http:\/\/vllm:8000/,
  ],
  [
    'a sampler on this machine, for trainers in a cluster',
    `${good.replace(/, baseUrl: '[^']*'/, ', path: ., server: vllm')}training: { sampler: vllm, backend: kubernetes, ` +
      'kubernetes: { image: i, store: { claim: c } } }\n',
    /training\.samplerUrl: is missing\. Trainers in a cluster do not reach the vLLM that `whet up` starts/,
  ],
  [
    'a server to start for a model that has one',
    good.replace(/, baseUrl: '[^']*'/, '$&, server: vllm'),
    /model\.server: "vllm" is not allowed\. Allowed: embedded; vllm only without baseUrl/,
  ],
  [
    'settings of vLLM without vLLM',
    good.replace(/, baseUrl: '[^']*'/, '$&, vllm: { maxModelLength: 512 }'),
    /model\.vllm: .*Allowed: nothing, unless model\.server is vllm\./,
  ],
  [
    'a flag that `whet up` sets itself',
    good.replace(/, baseUrl: '[^']*'/, ", path: ., server: vllm, vllm: { arguments: ['--port=9', '--max_lora_rank'] }"),
    /model\.vllm\.arguments\.0: "--port=9" is not allowed.*\n.*arguments\.1: "--max_lora_rank" is not allowed/,
  ],
  [
    'a length that only a managed sampler takes',
    `${good}training: { sampler: vllm, maxModelLength: 512 }\n`,
    /training\.maxModelLength: 512 is not allowed\. Allowed: nothing, unless sampler is managed/,
  ],
  [
    'an address that no sampler uses',
    `${good}training: { sampler: managed, samplerUrl: 'http://vllm:8000' }\n`,
    /training\.samplerUrl: .*only sampler vllm has an address/,
  ],
  [
    'an address that is none',
    `${good}training: { sampler: vllm, samplerUrl: 'ftp://vllm' }\n`,
    /training\.samplerUrl: "ftp:\/\/vllm" is not allowed/,
  ],
  [
    'an address with a password, which is not repeated',
    `${good}training: { sampler: vllm, samplerUrl: 'http://me:hush@vllm:8000' }\n`,
    /training\.samplerUrl: (?!.*hush).*an address without a user name and password/,
  ],
  [
    'a value outside a list',
    `${good}training: { rank: 7 }\n`,
    /training\.rank: 7 is not allowed\. Allowed: 1, 8, 16, 32, 64, 128\./,
  ],
  [
    'a wrong type',
    `${good}collect: { trials: two }\n`,
    /collect\.trials: "two" is not allowed\. Allowed: a whole number\./,
  ],
  [
    'a fraction where a whole number belongs',
    `${good}collect: { trials: 1.5 }\n`,
    /collect\.trials: 1\.5 is not allowed\. Allowed: a whole number\./,
  ],
  [
    'a number below the least',
    `${good}collect: { trials: 0 }\n`,
    /collect\.trials: 0 is not allowed\. Allowed: at least 1\./,
  ],
  [
    'a number above the most',
    `${good}identify: { minGap: 1.5 }\n`,
    /identify\.minGap: 1\.5 is not allowed\. Allowed: at most 1\./,
  ],
  ['a missing field', good.replace('name: desk\n', ''), /agent\.yaml: name: is missing\./],
  [
    'a bad name',
    good.replace('desk', 'Desk One'),
    /name: "Desk One" is not allowed\. Allowed: lower-case letters, digits and dashes/,
  ],
  [
    'seeds that overlap',
    good.replace('start: 1000', 'start: 99'),
    /environment\.heldOutSeeds: 99 to 198 overlaps trainSeeds, 0 to 99\./,
  ],
  [
    'a quorum above the runs',
    `${good}identify: { runs: 3, quorum: 4 }\n`,
    /identify\.quorum: 4 is not allowed\. Allowed: 1 to identify\.runs, which is 3\./,
  ],
  [
    'fewer trials at most than in any case',
    `${good}evaluation: { trials: 4, maxTrials: 3, detectableGain: 0.05 }\n`,
    /evaluation\.maxTrials: 3 is not allowed\. Allowed: at least evaluation\.trials/,
  ],
  ...['mixed', 'outcomes-mixed'].map((router): [string, string, RegExp] => [
    `the router ${router} without its adapter`,
    `${good}evaluation: { router: ${router}, mixedAdapter: false }\n`,
    /evaluation\.router: .* is not allowed\. Allowed: this router needs the mixed adapter/,
  ]),
  [
    'more trials for nothing',
    `${good}evaluation: { maxTrials: 8 }\n`,
    /evaluation\.maxTrials: 8 is not allowed\. Allowed: nothing, unless evaluation\.detectableGain/,
  ],
  [
    'more held-out tasks than there are',
    `${good}evaluation: { heldOutTasks: 101 }\n`,
    /evaluation\.heldOutTasks: 101 is not allowed\. Allowed: 1 to environment\.heldOutSeeds\.count, which is 100\./,
  ],
  ['a file that is not there', good.replace('env.py', 'nowhere.py'), /environment\.path: "nowhere\.py" does not exist/],
  ['no model', good.replace(/, baseUrl: '[^']*'/, ''), /model: has none of baseUrl, recipe and path/],
  ['broken YAML', 'version: [1\n', /agent\.yaml: .*line 2/s],
])('%s is named with path, value and what is allowed', (_, text, expected) => {
  expect(problemsOf(text)).toMatch(expected);
});

test('a sampler without an address is the server of the model', () => {
  expect(problemsOf(`${good}training: { sampler: vllm }\n`)).toBe('');
  expect(
    problemsOf(`${good.replace(/, baseUrl: '[^']*'/, ', path: ., server: vllm')}training: { sampler: vllm }\n`),
  ).toBe('');
});

test('every problem is named at once', () => {
  expect(problemsOf(`${good}collect: { trials: 0 }\ntraining: { rnk: 8, rank: 7 }\n`).split('\n')).toHaveLength(3);
});

test('a file that is not there is a sentence', () => {
  expect(() => loadAgentSpec(join(folder, 'nothing.yaml'))).toThrow(/nothing\.yaml: there is no such file\./);
});

test.each([
  ['a file', 'file:///etc/passwd', /model\.baseUrl: .*http:\/\/ or https:\/\//],
  ['a script', 'javascript:alert(1)', /model\.baseUrl: .*http:\/\/ or https:\/\//],
  ['a password', 'https://ann:hunter2@host/v1', /model\.baseUrl: .*no user name or password/],
])('the address of a server must not be %s', (_name, url, words) => {
  const said = problemsOf(good.replace('http://127.0.0.1:1/v1', url));
  expect(said).toMatch(words);
  expect(said).not.toContain('hunter2');
});

test.each([
  [
    'multiply',
    `${good}x:\n  a: &a [1,1,1,1,1,1,1,1,1,1]\n${[...'bcdefgh'].map((n, i) => `  ${n}: &${n} [${Array(10).fill(`*${'abcdefg'[i]}`).join(',')}]\n`).join('')}`,
  ],
  ['contain themselves', `${good}x: &x [*x]\n`],
  ['contain themselves where a name belongs', good.replace('name: desk', 'name: &x [*x]')],
  ['contain themselves as a key', `${good}x: &x { *x : 1 }\n`],
  ['name a thousand levels', `${good}x: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`],
])('aliases that %s are a problem of the file', (_name, text) => {
  expect(problemsOf(text)).toMatch(/^agent\.yaml: /);
});

test('what is no file is neither waited for nor read', () => {
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  expect(() => loadAgentSpec(join(folder, 'fifo'))).toThrow('is not a file');
  expect(() => loadAgentSpec('/dev/zero')).toThrow('is not a file');
  expect(() => loadGatewayConfig(join(folder, 'fifo'))).toThrow('is not a file');
  expect(problemsOf(good.replace('env.py', '/dev/zero'))).toContain('environment.path: "/dev/zero" is not a file');
  expect(problemsOf(good.replace('env.py', 'fifo'))).toContain('environment.path: "fifo" is not a file');
});

test.each(['environment.path', 'model.recipe'])('a file that is too large is told with its size: %s', (path) => {
  writeFileSync(join(folder, 'large.py'), `TABLE = """${'x'.repeat(1_812_000)}"""\n`);
  const text =
    path === 'model.recipe' ? good.replace('model: {', '$& recipe: large.py,') : good.replace('env.py', 'large.py');
  expect(problemsOf(text)).toContain(
    `${path}: "large.py" has 1812015 bytes, and at most 1000000 are read. Put data into files beside it, which it opens`,
  );
});

test('seeds have at most 53 bits', () => {
  expect(problemsOf(`${good}seed: 9007199254740993\n`)).toMatch(/agent\.yaml: seed: /);
  expect(problemsOf(good.replace('start: 1000', 'start: 9007199254740990'))).toMatch(
    /environment\.heldOutSeeds: .*2\^53/,
  );
});

test.each([
  ['DB_PASSWORD=hunter2', 'a text'],
  ['- hunter2', 'a list'],
  ['4711', 'a number'],
])('of a file without fields, such as %j, nothing is repeated', (text, kind) => {
  expect(problemsOf(text)).toBe(`agent.yaml: is ${kind}, not fields with values. Allowed: fields with values.`);
});

test('an address is refused once, for the first reason', () => {
  const problems = problemsOf(good.replace(/baseUrl: '[^']*'/, 'baseUrl: "host name/v1"'));
  expect(problems.split('\n')).toEqual([
    'agent.yaml: model.baseUrl: "host name/v1" is not allowed. Allowed: an address that begins with http:// or https://.',
  ]);
});

test('a number that JSON has not is shown as it counts', () => {
  expect(problemsOf(`${good}training: { rank: 1e400 }\n`)).toContain('training.rank: Infinity is not allowed.');
});

test.each(['meanReward', 'meanSuccess'])('a band whose lowest value is above its highest is refused: %s', (name) => {
  expect(problemsOf(`${good}calibration: { ${name}: [0.9, 0.2] }\n`)).toContain(
    `calibration.${name}: [0.9,0.2] is not allowed. Allowed: the lower value first.`,
  );
});

test('lines that pass for keys are not repeated', () => {
  const said = problemsOf('root:$y$hunter2:1:::\nbin:*:1:::\n');
  expect(said).toContain('agent.yaml: (a key that is not shown): unknown field.');
  expect(said).not.toContain('hunter2');
  expect(problemsOf('root:$y$hunter2:1:::\nroot:$y$hunter2:1:::\n')).toBe(
    'agent.yaml: the key "(a key that is not shown)" in line 2 is there twice.',
  );
});

const KEY = 'sk-proj-hunter2hunter2hunter2';
test.each([
  ['a text in place of fields', `${good}analyst: "${KEY}"\n`, 'analyst: a text is not allowed'],
  ['a short one', `${good}analyst: hunter2\n`, 'analyst: a text is not allowed'],
  ['a list in place of fields', `${good}notify: [{ webhook: hunter2 }]\n`, 'notify: a list is not allowed'],
  ['a list of texts', `${good}notify: [hunter2]\n`, 'notify: a list is not allowed'],
  [
    'a map in place of a text',
    good.replace('name: base', `name: { a: hunter2 }`),
    'model.name: a map of fields is not',
  ],
  ['a text in place of a list', `${good}analyst: { redaction: { rules: hunter2 } }\n`, 'rules: a text is not allowed'],
  ['a key in place of a number', `${good}seed: ${KEY}\n`, 'seed: "[key]" is not allowed'],
  [
    'a key in place of an address',
    `${good}analyst: { baseUrl: "${KEY}" }\n`,
    'analyst.baseUrl: "[key]" is not allowed',
  ],
  [
    'a key behind an address',
    `${good}analyst: { baseUrl: "https://host/v1 ${KEY}" }\n`,
    'analyst.baseUrl: "https://host/v1 [key]" is not allowed',
  ],
  ['a key as a file', good.replace('env.py', KEY), 'environment.path: "[key]" does not exist'],
  ['a key as a field', `${good}analyst: { ${KEY}: 1 }\n`, 'analyst.(a key that is not shown): unknown field'],
  [
    'a key in a query',
    `${good}analyst: { baseUrl: "https://host/v1?api_key=hunter2" }\n`,
    'analyst.baseUrl: "https://host/v1?…" is not allowed. Allowed: an address without ? and #; keys go into variables',
  ],
  [
    'a key of the model in a query',
    good.replace(':1/v1', ':1/v1?key=hunter2'),
    'model.baseUrl: "http://127.0.0.1:1/v1?…"',
  ],
  ['a key in a fragment', good.replace(':1/v1', ':1/v1#x'), 'model.baseUrl: "http://127.0.0.1:1/v1#x" is not allowed'],
  [
    'a key of the sampler in a query',
    `${good}training: { sampler: vllm, samplerUrl: "http://vllm:8000?key=hunter2" }\n`,
    'training.samplerUrl: "http://vllm:8000?…" is not allowed',
  ],
])('%s is not repeated', (_, text, says) => {
  const said = problemsOf(text);
  expect(said).toContain(says);
  expect(said).not.toContain('hunter2');
});

test('an address of any length is told at once', () => {
  expect(problemsOf(good.replace('http://127.0.0.1:1/v1', '://'.repeat(300_000)))).toContain('model.baseUrl: "://://');
});

test('the time limit of the analyst is one that a timer can keep', () => {
  expect(problemsOf(`${good}analyst: { timeoutSeconds: 2147484 }\n`)).toContain(
    'analyst.timeoutSeconds: 2147484 is not allowed. Allowed: at most 2147483.',
  );
  expect(problemsOf(`${good}analyst: { timeoutSeconds: 2147483 }\n`)).toBe('');
});

test('the second reader has at least as many labels at most as at first', () => {
  const reader = (fields: string) => problemsOf(`${good}certificate: { secondReader: { ${fields} } }\n`);
  expect(reader('labels: 30, maxLabels: 20')).toContain('certificate.secondReader.maxLabels');
  expect(reader('labels: 30, maxLabels: 20')).toContain('at least as many as labels');
  expect(reader('labels: 5')).toContain('certificate.secondReader.labels');
  expect(reader('labels: 0')).toBe('');
});
