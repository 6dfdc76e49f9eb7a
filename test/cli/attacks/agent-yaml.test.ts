// tier: unit
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { editorSchemas } from '../../../scripts/generated-documents';
import { expectPlain, expectRefused, whet } from './whet';

const folder = mkdtempSync(join(tmpdir(), 'whet-hostile-yaml-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, 'env.py'), '');
const AGENT = join(folder, 'agent.yaml');
const before = { ...process.env };
beforeAll(() => void (process.env['WHET_HOME'] = join(folder, 'home')));
afterAll(() => void (process.env = before));

const ENVIRONMENT =
  'environment: { path: env.py, trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 100 } }\n';
const MODEL = "model: { name: base, baseUrl: 'http://127.0.0.1:1/v1' }\n";
const GOOD = `version: 1\nname: desk\n${ENVIRONMENT}${MODEL}`;

const check = (text: string | Buffer): string[] => {
  writeFileSync(AGENT, text);
  return ['validate', AGENT, '--no-run'];
};
test('the file that the attacks change is good', async () => {
  const said = await whet(...check(GOOD));
  expect([said.code, said.stderr]).toEqual([0, '']);
});

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  const?: unknown;
  anyOf?: Schema[];
}
/** Every field of agent.yaml that holds no fields itself, as path and schema. */
function leaves(schema: Schema, path: string[] = []): [string[], Schema][] {
  if (schema.properties === undefined) return [[path, schema]];
  return Object.entries(schema.properties).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}
const FIELDS = leaves(JSON.parse(editorSchemas()['agent.schema.json']!) as Schema);
const SECTIONS = [...new Set(FIELDS.map(([[section]]) => section!))];
/** YAML of values that belong to no field: wrong types, and numbers and dates that are none. */
const WRONG: [kind: string, yaml: string][] = [
  ['object', '{ a: { b: 1 } }'],
  ['array', '[[[1]]]'],
  ['number', '.nan'],
  ['number', '.inf'],
  ['number', '-1e400'],
  ['null', '~'],
];

test.each(SECTIONS)('fields: each one in %s refuses values that belong to no field, by its path', async (section) => {
  for (const [path, schema] of FIELDS.filter(([[first]]) => first === section)) {
    for (const [kind, yaml] of WRONG) {
      if (schema.type === kind || (schema.type === undefined && schema.const === undefined)) continue;
      const inner = path.slice(1).reduceRight((text, name) => `{ ${name}: ${text} }`, yaml);
      const rest = GOOD.split('\n')
        .filter((line) => !line.startsWith(`${section}:`))
        .join('\n');
      const { code, stderr, ...said } = await whet(...check(`${rest}${section}: ${inner}\n`));
      expect({ path, yaml, code }).toEqual({ path, yaml, code: 2 });
      expect(stderr).toContain(AGENT);
      expect(stderr).toContain(path.join('.'));
      expectPlain({ code, stderr, ...said });
    }
  }
});

test.each<[string, string | Buffer, RegExp]>([
  ['nothing', '', /agent\.yaml: /],
  ['comments alone', '# version: 1\n', /agent\.yaml: /],
  ['a word', 'desk\n', /agent\.yaml: /],
  ['a list', '- version: 1\n', /agent\.yaml: /],
  ['two documents', `${GOOD}---\n${GOOD}`, /agent\.yaml: /],
  ['a key twice', `${GOOD}name: till\n`, /agent\.yaml: .*(name|key|unique)/is],
  ['a key twice, once in quotes', `${GOOD}"name": till\n`, /agent\.yaml: .*(name|key|unique)/is],
  ['a prototype', `${GOOD}__proto__: { seed: 7 }\n`, /agent\.yaml: .*__proto__/s],
  ['a prototype of a section', `${GOOD}training: { __proto__: { rank: 7 } }\n`, /training.*__proto__/s],
  ['a constructor', `${GOOD}constructor: { prototype: { seed: 7 } }\n`, /agent\.yaml: .*constructor/s],
  ['a list as a key', `${GOOD}? [seed]\n: 7\n`, /agent\.yaml: /],
  ['an object as a key', `${GOOD}? { seed: 1 }\n: 7\n`, /agent\.yaml: /],
  ['null as a key', `${GOOD}~: 7\n`, /agent\.yaml: /],
  ['a merge of sections', `${GOOD}x: &x { rank: 8 }\ntraining: { <<: *x }\n`, /agent\.yaml: .*(x|<<)/s],
  ['a merge of itself', `${GOOD}training: &t { <<: *t, rank: 8 }\n`, /agent\.yaml: /],
  ['an alias of nothing', `${GOOD}seed: *nowhere\n`, /agent\.yaml: .*Unresolved alias/s],
  ['a Python object', `${GOOD}seed: !!python/object/apply:os.system ["id"]\n`, /agent\.yaml: /],
  ['a JavaScript function', `${GOOD}seed: !!js/function "() => 1"\n`, /agent\.yaml: /],
  ['a tag of its own', `${GOOD}seed: !<tag:evil.example,2026:x> 1\n`, /agent\.yaml: /],
  ['a regular expression', `${GOOD}seed: !!js/regexp /(a+)+$/\n`, /agent\.yaml: /],
  ['a date by its tag', `${GOOD}seed: !!timestamp 2026-01-01\n`, /agent\.yaml: /],
  ['bytes by their tag', `${GOOD}seed: !!binary AAAA\n`, /agent\.yaml: /],
  ['a set', `${GOOD}training: !!set { rank }\n`, /agent\.yaml: /],
  ['an ordered map', `${GOOD}training: !!omap [{ rank: 7 }]\n`, /agent\.yaml: /],
  ['words for truth of an older YAML', `%YAML 1.1\n---\n${GOOD}gate: { approval: maybe }\n`, /gate\.approval/],
  ['a NUL', `${GOOD}seed: "\\0"\n`, /seed/],
  ['a raw NUL', `${GOOD}seed: \0\n`, /agent\.yaml: /],
  ['UTF-16', Buffer.from(`\ufeff${GOOD}`, 'utf16le'), /agent\.yaml: /],
  ['bytes that are no UTF-8', Buffer.from(`${GOOD}seed: "\xff\xfe"\n`, 'latin1'), /agent\.yaml: /],
  ['a tab for a blank', `${GOOD}training:\n\trank: 8\n`, /agent\.yaml: /],
  ['an unknown key of 100,000 letters', `${GOOD}${'k'.repeat(100_000)}: 1\n`, /agent\.yaml: /],
  ['a value of a million letters', `${GOOD}seed: ${'v'.repeat(1_000_000)}\n`, /has 1000196 bytes, and at most/],
  ['ten thousand unknown keys', `${GOOD}${Array.from({ length: 10_000 }, (_, n) => `k${n}: 1\n`).join('')}`, /k0/],
])('YAML: %s', async (_name, text, message) => {
  await expectRefused(check(text), message);
  expect((await whet(...check(text))).all.length).toBeLessThan(1_000_000);
  expect(({} as Record<string, unknown>)['seed']).toBeUndefined();
});

/** Characters that a terminal obeys, or that turn what is read around. */
const ESCAPES: [string, string][] = [
  ['an escape', '\\e[2J'],
  ['an operating system command', '\\e]52;c;cm0gLXJmIC8K\\a'],
  ['a C1 control', '\\x9b31m'],
  ['a direction mark', '\\u202egnp.exe'],
  ['an isolate', '\\u2066x\\u2069'],
  ['a line separator', '\\u2028whet: valid'],
  ['a carriage return', 'x\\rwhet: valid'],
  ['a backspace', 'x\\b\\b\\b'],
  ['a mark of byte order', '\\ufeffdesk'],
];
test.each(ESCAPES)('printed text: %s in a name, a key, a path and a value comes out harmless', async (_name, text) => {
  await expectRefused(check(GOOD.replace('name: desk', `name: "${text}"`)), /name: /);
  await expectRefused(check(`${GOOD}"${text}": 1\n`), /unknown field/);
  await expectRefused(check(`${GOOD}training: { "${text}": 1 }\n`), /unknown field/);
  await expectRefused(check(GOOD.replace('env.py', `"${text}.py"`)), /environment\.path/);
  await expectRefused(check(GOOD.replace("'http://127.0.0.1:1/v1'", `"${text}"`)), /model\.baseUrl/);
  await expectRefused(check(`${GOOD}gate: { approval: "${text}" }\n`), /gate\.approval/);
  await expectRefused(check(`${GOOD}analyst: { redaction: { rules: ["${text}"] } }\n`), /analyst\.redaction\.rules/);
});

test.each<[string, string]>([
  ['text', '"7"'],
  ['a fraction', '1.5'],
  ['below 0', '-1'],
  ['2^53', '9007199254740992'],
  ['64 bits', '18446744073709551616'],
  ['400 digits', '9'.repeat(400)],
  ['an exponent', '1e400'],
  ['not a number', '.NaN'],
  ['hours and minutes', '190:20:30'],
  ['an underscore', '1_000'],
  ['a date', '2026-11-23'],
  ['truth', 'true'],
  ['a list of one', '[7]'],
])('numbers: a seed that is %s', async (_name, value) => {
  await expectRefused(check(`${GOOD}seed: ${value}\n`), /seed/);
  await expectRefused(check(GOOD.replace('start: 0', `start: ${value}`)), /environment\.trainSeeds/);
});

describe('paths', () => {
  beforeAll(() => {
    mkdirSync(join(folder, 'directory.py'));
    symlinkSync('loop-b.py', join(folder, 'loop-a.py'));
    symlinkSync('loop-a.py', join(folder, 'loop-b.py'));
    symlinkSync('/dev/zero', join(folder, 'zero.py'));
    symlinkSync('/nowhere/at/all', join(folder, 'broken.py'));
    execFileSync('mkfifo', [join(folder, 'fifo.py')]);
  });
  test.each([
    'directory.py',
    'loop-a.py',
    'zero.py',
    'broken.py',
    'fifo.py',
    '/dev/stdin',
    '/dev/tty',
    '/dev/full',
    '.',
    '',
    '~/.ssh/id_rsa',
    'file:///etc/passwd',
    'http://evil.example/env.py',
    'env.py/x',
    'env.py\\0.txt',
    'x'.repeat(5_000),
  ])('%.40s is no environment', async (path) => {
    await expectRefused(check(GOOD.replace('env.py', `"${path}"`)), /environment\.path/);
  });
  test.each(['directory.py', 'loop-a.py', 'zero.py', 'broken.py', 'fifo.py'])('%s is no agent.yaml', async (name) => {
    await expectRefused(['validate', join(folder, name), '--no-run'], /\.py/);
    await expectRefused(['gateway', '--config', join(folder, name)], /\.py/);
  });
  test.each(['', '\0', 'x\0y', '/dev/null/x', 'x'.repeat(5_000), '\u001b[2J', '\u202e.yaml', '/proc/self/mem'])(
    '%j as an argument is no agent.yaml',
    async (path) => {
      await expectRefused(['validate', path, '--no-run'], /./);
      await expectRefused(['run', path, '--dry-run'], /./);
    },
  );
});

const URLS: [string, string][] = [
  ['a script', 'javascript:alert(1)//http://x'],
  ['a file', 'file:///proc/self/environ'],
  ['data', 'data:text/plain,x'],
  ['a web socket', 'ws://127.0.0.1/v1'],
  ['a unix socket', 'unix:///var/run/docker.sock'],
  ['a scheme with a plus', 'http+unix://%2Fvar%2Frun%2Fdocker.sock'],
  ['no scheme', '//evil.example/v1'],
  ['no host', 'http://'],
  ['a path for a host', 'http:///v1'],
  ['a port that is none', 'http://x:99999/v1'],
  ['half an address', 'http://[::1/v1'],
  ['a user name', 'http://hunter2@host/v1'],
  ['an empty user name', 'http://:hunter2@host/v1'],
  ['a user name in capitals', 'HTTP://ann:hunter2@host/v1'],
  ['a user name behind backslashes', 'http:\\\\\\\\ann:hunter2@host\\\\v1'],
  ['an encoded user name', 'http://ann%3Ahunter2@host/v1'],
  ['a tab in the scheme', 'java\\tscript:alert(1)'],
  ['a line feed and a header', 'http://host/v1\\r\\nx-y: z'],
  ['a blank', 'http://ho st/v1'],
  ['words', 'localhost:8000'],
];
test.each(URLS)('addresses: %s', async (_name, url) => {
  const places: [string, string][] = [
    [GOOD.replace("'http://127.0.0.1:1/v1'", `"${url}"`), 'model.baseUrl'],
    [`${GOOD}analyst: { baseUrl: "${url}" }\n`, 'analyst.baseUrl'],
    [`${GOOD}training: { sampler: vllm, samplerUrl: "${url}" }\n`, 'training.samplerUrl'],
  ];
  for (const [text, path] of places) {
    await expectRefused(check(text), new RegExp(path));
    expect((await whet(...check(text))).all).not.toContain('hunter2');
  }
});

describe('gateway.yaml', () => {
  const agents = [{ name: 'desk', baseModel: 'b', replicas: ['http://x/v1'] }];
  const gateway = (text: string): string[] => {
    const file = join(folder, 'gateway.yaml');
    writeFileSync(file, text);
    return ['gateway', '--config', file];
  };
  test.each<[string, unknown, RegExp]>([
    ['a port of text', { port: '8400' }, /port/],
    ['a port above the last', { port: 65_536 }, /port/],
    ['a port that is a fraction', { port: 1.5 }, /port/],
    ['a host that is everybody, without keys', { host: '0.0.0.0' }, /host|keys/],
    ['a host that is everybody in IPv6, without keys', { host: '::' }, /host|keys/],
    ['a host in other digits, without keys', { host: '0' }, /host|keys/],
    ['a host of no letters, without keys', { host: '' }, /host|keys/],
    ['a key in the clear', { keys: [{ client: 'a', sha256: 'sk-secret' }] }, /keys\.0\.sha256/],
    ['keys in the clear', { keys: ['sk-secret'] }, /keys\.0/],
    ['one key in the clear', { keys: 'sk-secret' }, /keys/],
    ['a hash in capitals', { keys: [{ client: 'a', sha256: 'A'.repeat(64) }] }, /keys\.0\.sha256/],
    ['a hash with a line feed', { keys: [{ client: 'a', sha256: `${'a'.repeat(64)}\n` }] }, /keys\.0\.sha256/],
    ['no agents', { agents: [] }, /agents/],
    ['an agent that is a path', { agents: [{ ...agents[0], name: '../x' }] }, /agents\.0\.name/],
    ['an agent that ends with a line feed', { agents: [{ ...agents[0], name: 'desk\n' }] }, /agents\.0\.name/],
    ['a server that is a file', { agents: [{ ...agents[0], replicas: ['file:///x'] }] }, /agents\.0\.replicas\.0/],
    [
      'a server with a password',
      { agents: [{ ...agents[0], replicas: ['http://a:hunter2@x/v1'] }] },
      /agents\.0\.replicas\.0/,
    ],
    ['a server that is a script', { agents: [{ ...agents[0], replicas: ['javascript:1'] }] }, /agents\.0\.replicas\.0/],
    ['a body of no limit', { limits: { bodyBytes: Infinity } }, /limits\.bodyBytes/],
    ['a body below 0', { limits: { bodyBytes: -1 } }, /limits\.bodyBytes/],
    ['a time that is no number', { timeouts: { connectMs: NaN } }, /timeouts\.connectMs/],
    ['retries without end', { retries: Infinity }, /retries/],
    ['a share above 1', { agents: [{ ...agents[0], traces: { sample: 1.1 } }] }, /agents\.0\.traces\.sample/],
    [
      'a pattern that is none',
      { agents: [{ ...agents[0], traces: { redactPatterns: ['('] } }] },
      /agents\.0\.traces\.redactPatterns/,
    ],
    ['an unknown field with an escape', { '\u001b[2J': 1 }, /unknown field/],
    ['an unknown field with a direction mark', { '\u202ex': 1 }, /unknown field/],
  ])('%s', async (_name, change, message) => {
    await expectRefused(gateway(stringify({ version: 1, agents, ...(change as object) })), message);
    expect((await whet(...gateway(stringify({ version: 1, agents, ...(change as object) })))).all).not.toMatch(
      /hunter2|sk-secret/,
    );
  });
});
