// tier: jail
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadProfile, openEnvironment, probeJail, SandboxUnavailable } from '../../sandbox';
import { readableFolder } from '../../sandbox/agent-folder';
import { ownerProfile } from '../../sandbox/profile';
import { hostileSource, testProfile } from './hostile';

let root: string;
let agentFolder: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'owner-'));
  chmodSync(root, 0o755);
  agentFolder = join(root, 'agent');
  for (const name of ['agent', 'other-agent', 'state']) mkdirSync(join(root, name));
  writeFileSync(join(agentFolder, 'products.json'), '[1]');
  writeFileSync(join(root, 'other-agent', 'environment.py'), 'SECRET = 1\n');
  writeFileSync(join(root, 'state', 'registry.json'), '{}');
  process.env['OPENAI_API_KEY'] = 'sk-the-workers';
});
afterEach(() => void delete process.env['WHET_UNJAILED_ENVIRONMENTS']);
afterAll(() => {
  delete process.env['OPENAI_API_KEY'];
  rmSync(root, { recursive: true });
});

/** What the owner's module returns of a step that runs these Python statements. */
async function inOwnersModule(body: string): Promise<string> {
  const name = join(agentFolder, 'environment.py');
  const source = hostileSource(body);
  const environment = await openEnvironment({ source, trust: 'owner', name, agent: 'desk', profile: testProfile() });
  try {
    await environment.reset('e', 1);
    return (await environment.step('e', [{ name: 'go', arguments: {} }])).observations[0]!;
  } finally {
    await environment.close();
  }
}

/** What belongs to the worker, its machine and others: Python statements, and what a plain process gets. */
const FOREIGN: readonly (readonly [name: string, body: () => string, plain: RegExp])[] = [
  [
    'the keys of the worker',
    () => `return open("/proc/${process.pid}/environ").read() or "empty"`,
    /OPENAI_API_KEY|PATH/,
  ],
  ['the memory of the worker', () => `return attempt(open, "/proc/${process.pid}/mem", "rb")`, /^succeeded/],
  ['the worker as a process', () => `return attempt(os.kill, ${process.pid}, 0)`, /^succeeded/],
  ['the registry', () => `return attempt(open, "${root}/state/registry.json")`, /^succeeded/],
  ["another agent's files", () => `return attempt(open, "${root}/other-agent/environment.py")`, /^succeeded/],
  ['the users of the machine', () => 'return attempt(open, "/etc/passwd")', /^succeeded/],
  ["its own folder's files, to change them", () => `return attempt(open, "${agentFolder}/new", "w")`, /^succeeded/],
  ['sockets of local programs', () => 'return attempt(socket.socket, socket.AF_UNIX)', /^succeeded/],
];

test.each(FOREIGN)('the owner’s module does not reach %s', async (_, body, plain) => {
  const jailed = await inOwnersModule(body()).catch((error: unknown) => String(error));
  expect(jailed).toMatch(/^ENOENT|^ESRCH|^EROFS|^EPERM|^EACCES|FileNotFoundError/);
  // The same as a plain process, as an operator may allow: the attack is one.
  process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'other, desk';
  expect(await inOwnersModule(body())).toMatch(plain);
});

test('it has the network, its folder, processes, a private /tmp and no variables', async () => {
  const server = createServer((socket) => socket.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const got = await inOwnersModule(
    'import json, sqlite3, ssl, subprocess\n' +
      `answer = socket.create_connection(("127.0.0.1", ${port})).recv(10).decode()\n` +
      `products = json.load(open("${agentFolder}/products.json"))\n` +
      'child = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True).stdout.decode()\n' +
      'sqlite3.connect("/tmp/own.db").execute("create table notes(text)")\n' +
      'return [answer, products, child, sorted(os.environ), os.getuid(), sorted(os.listdir("/tmp"))]',
  );
  await new Promise((resolve) => server.close(resolve));
  const variables = "\\['HOME', 'PATH', 'PWD', 'SSL_CERT_FILE'\\]";
  expect(got).toMatch(new RegExp(`^\\['hello', \\[1\\], '42\\\\n', ${variables}, 65534, \\[.*'own.db'.*\\]\\]$`));
});

test.each(['jail', 'process'])('in a %s it opens the files of its folder by their names', async (isolation) => {
  if (isolation === 'process') process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'desk';
  const places = ['open("products.json")', 'open(os.path.join(os.path.dirname(__file__), "products.json"))'];
  for (const place of places) expect(await inOwnersModule(`return ${place}.read()`)).toBe('[1]');
  await expect(inOwnersModule('return open("product.json").read()')).rejects.toThrow(
    /No such file or directory: 'product\.json' \(the agent's own environment opens files of its folder by their/,
  );
  // A module of that name in the folder is not the library's.
  writeFileSync(join(agentFolder, 'json.py'), 'raise SystemExit\n');
  expect(await inOwnersModule('import json\nreturn json.dumps([2])')).toBe('[2]');
});

test('a source that is too large is told with its size and what is taken', async () => {
  const row = '("first", "second", "third"),\n';
  const source = (rows: number) => `TABLE = [\n${row.repeat(rows)}]\n${hostileSource('return len(TABLE)')}`;
  const open = (rows: number) =>
    openEnvironment({ source: source(rows), trust: 'owner', name: join(agentFolder, 'environment.py'), agent: 'desk' });
  await (await open(20_000)).close();
  await expect(open(30_000)).rejects.toMatchObject({
    type: 'Sandbox.SourceTooLarge',
    retryable: false,
    message: expect.stringMatching(
      /environment\.py has 90\d{4} bytes, which are 11\d{5} as JSON; at most 1048064 can be sent to its process\. Put data into files beside it/,
    ) as string,
  });
});

test('on this machine every layer of the owner’s jail holds', async () => {
  const probe = await probeJail(ownerProfile(loadProfile()), 'owner');
  expect(probe.missing).toEqual([]);
});

test('where the jail is missing the module is refused, unless an operator names it', async () => {
  const path = process.env['PATH'];
  process.env['PATH'] = root;
  try {
    const refused = inOwnersModule('return "ran"');
    await expect(refused).rejects.toBeInstanceOf(SandboxUnavailable);
    await expect(refused).rejects.toThrow(
      /the environment .*environment\.py is not run\. bwrap is not on PATH.*set WHET_UNJAILED_ENVIRONMENTS=desk/,
    );
    process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'desk2';
    await expect(inOwnersModule('return "ran"')).rejects.toBeInstanceOf(SandboxUnavailable);
    for (const named of ['desk', join(agentFolder, 'environment.py')]) {
      process.env['WHET_UNJAILED_ENVIRONMENTS'] = named;
      expect(await inOwnersModule('return "ran"')).toBe('ran');
    }
  } finally {
    process.env['PATH'] = path;
  }
});

test('in a container its profile leaves out what /proc/sys would be needed for', () => {
  const { profile, folder } = loadProfile();
  const pod = { folder, profile: { ...profile, bubblewrap: [['--unshare-all']] } };
  expect(ownerProfile(loadProfile()).profile.bubblewrap.flat()).toContain('--disable-userns');
  expect(ownerProfile(pod).profile.bubblewrap.flat()).not.toContain('--disable-userns');
});

test('a module beside the state of whet runs without its folder', async () => {
  process.env['WHET_HOME'] = join(agentFolder, 'state');
  try {
    expect(await inOwnersModule(`return attempt(open, "${agentFolder}/products.json")`)).toBe('ENOENT');
  } finally {
    delete process.env['WHET_HOME'];
  }
});

test('a folder that holds more than an agent is not shown', () => {
  expect(readableFolder(join(agentFolder, 'environment.py'))).toBe(agentFolder);
  for (const path of [join(homedir(), 'environment.py'), '/environment.py', '/etc/environment.py', 'environment.py'])
    expect(readableFolder(path)).toBeNull();
  process.env['WHET_HOME'] = join(agentFolder, 'state');
  expect(readableFolder(join(agentFolder, 'environment.py'))).toBeNull();
  expect(readableFolder(join(agentFolder, 'state', 'store', 'environment.py'))).toBeNull();
  delete process.env['WHET_HOME'];
});
