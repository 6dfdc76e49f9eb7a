// tier: jail
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type ProgramSource, startCommand } from '../../sandbox';
import { OwnerProcesses } from '../../sandbox/owner-processes';
import { loadProfile } from '../../sandbox/profile';

let root: string;
let agentFolder: string;
let server: Server | null = null;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'command-'));
  chmodSync(root, 0o755);
  agentFolder = join(root, 'agent');
  for (const name of ['agent', 'other-agent', 'state']) mkdirSync(join(root, name));
  copyFileSync(join(__dirname, '..', 'fakes', 'process_server.py'), join(agentFolder, 'server.py'));
  writeFileSync(join(root, 'other-agent', 'agent.yaml'), 'version: 1\n');
  writeFileSync(join(root, 'state', 'registry.json'), '{}');
  process.env['OPENAI_API_KEY'] = 'sk-the-workers';
  process.env['DESK_KEY'] = 'sk-the-desks';
});
afterEach(() => void delete process.env['WHET_UNJAILED_ENVIRONMENTS']);
afterAll(() => {
  server?.close();
  server?.closeAllConnections();
  delete process.env['OPENAI_API_KEY'];
  delete process.env['DESK_KEY'];
  rmSync(root, { recursive: true });
});

const owned = () => ({ trust: 'owner', name: join(agentFolder, 'agent.yaml'), agent: 'desk' }) as const;
const shown = () => ({ agentFolder, folders: [], secrets: ['DESK_KEY'], variables: { DESK_PLACE: 'here' } });

/** What Python expressions are in a process of the agent's owner. */
async function inProcess(codes: readonly string[]): Promise<string[]> {
  const launch = {
    ...shown(),
    command: ['python3', 'server.py'],
    variables: { WAYS: '{"1":"look"}', DESK_PLACE: 'here' },
    processes: 1,
    episodesPerProcess: 1,
    seconds: { start: 60, step: 60, episode: 600, judge: 60 },
  };
  const environment = await OwnerProcesses.open({ plays: 'process', ...owned(), launch }, loadProfile());
  try {
    await environment.reset('e', 1);
    const calls = codes.map((code) => ({ name: 'add', arguments: { code } }));
    return (await environment.step('e', calls)).observations;
  } finally {
    await environment.close();
  }
}

/** What belongs to the worker, its machine and others: Python expressions, and what a plain process gets. */
const FOREIGN = (): [name: string, code: string, plain: RegExp][] => [
  ['the keys of the worker', `open("/proc/${process.pid}/environ").read()`, /PATH/],
  ['the memory of the worker', `open("/proc/${process.pid}/mem", "rb")`, /BufferedReader/],
  ['the worker as a process', `os.kill(${process.pid}, 0)`, /^None$/],
  ['the registry', `open("${root}/state/registry.json").read()`, /\{\}/],
  ["another agent's files", `open("${root}/other-agent/agent.yaml").read()`, /version/],
  ['the home directory', 'os.listdir("/root") if os.getuid() == 0 else os.listdir(os.path.expanduser("~root"))', /\[/],
  ['the users of the machine', 'open("/etc/passwd").read()', /root/],
  ["its own folder's files, to change them", `open("${agentFolder}/new", "w")`, /TextIOWrapper/],
  ['the programs of the machine, to change them', 'open("/usr/bin/new-whet-program-test", "w").close()', /^None$/],
];

test('a process of the agent’s owner reaches nothing that is the worker’s or others’', async () => {
  const foreign = FOREIGN();
  const jailed = await inProcess(foreign.map(([, code]) => code));
  for (const [index, got] of jailed.entries())
    expect([foreign[index]![0], got]).toEqual([
      foreign[index]![0],
      expect.stringMatching(/^(FileNotFoundError|ProcessLookupError|OSError|PermissionError|KeyError)$/),
    ]);
  // The same as a plain process, as an operator may allow: the attack is one.
  process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'desk';
  const harmless = foreign.filter(([name]) => !name.includes('programs'));
  const plain = await inProcess(harmless.map(([, code]) => code));
  for (const [index, got] of plain.entries())
    expect([harmless[index]![0], got]).toEqual([harmless[index]![0], expect.stringMatching(harmless[index]![2])]);
});

test('it has its own variables and secrets and no others, its own processes, and a private /tmp', async () => {
  const [variables, ofFirst, processes, files, user] = await inProcess([
    'sorted(name for name in os.environ if name != "WAYS"), os.environ["DESK_KEY"]',
    'open("/proc/1/environ").read()',
    'len([name for name in os.listdir("/proc") if name.isdigit()])',
    'os.listdir("/tmp")',
    'os.getuid()',
  ]);
  const names = "'DESK_KEY', 'DESK_PLACE', 'HOME', 'LANG', 'PATH', 'PWD', 'SSL_CERT_FILE'";
  expect(variables).toBe(`([${names}], 'sk-the-desks')`);
  expect(ofFirst).toMatch(/^'(PWD=\/\\x00)?'$/);
  expect(Number(processes)).toBeLessThan(5);
  // The folder of the agent alone, where the test has made it there.
  expect(files).toMatch(/^\[('command-\w+')?\]$/);
  expect(user).toBe('65534');
});

async function outputOf(
  command: string[],
  more: Record<string, string> = {},
): Promise<{ output: string; errors: string; code: number }> {
  const launch = { ...shown(), command, score: null, memoryPerEpisode: 512, seconds: { episode: 60, score: 60 } };
  const source: ProgramSource = { plays: 'program', ...owned(), firstSeed: 0, launch };
  const { launched } = await startCommand(source, loadProfile(), { more });
  launched.child.ref();
  const ended = new Promise<number>((resolve) => launched.child.once('exit', (code) => resolve(code ?? -1)));
  const [output, errors, code] = await Promise.all([text(launched.stdout), text(launched.stderr), ended]);
  launched.release();
  return { output, errors, code };
}

test('a virtual environment of the system’s Python works in the agent’s folder', async () => {
  execFileSync('/usr/bin/python3', ['-m', 'venv', '--without-pip', join(agentFolder, 'venv')]);
  const site = execFileSync(join(agentFolder, 'venv/bin/python'), [
    '-c',
    'import site; print(site.getsitepackages()[0])',
  ]);
  writeFileSync(join(site.toString().trim(), 'desk_package.py'), 'NAME = "the desk"\n');
  const code = 'import desk_package, sys, asyncio; asyncio.run(asyncio.sleep(0)); print(desk_package.NAME, sys.prefix)';
  expect(await outputOf(['venv/bin/python', '-c', code])).toEqual({
    output: `the desk ${agentFolder}/venv\n`,
    errors: '',
    code: 0,
  });
});

test('Node and a shell work, with the network of the machine', async () => {
  server = createServer((_, response) => response.end('hello'));
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const MODEL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const script =
    'const { execFileSync } = require("child_process");' +
    'fetch(process.env.MODEL).then((r) => r.text()).then((t) => console.log(t, String(execFileSync("/bin/echo", ["child"])).trim()))';
  expect(await outputOf(['node', '-e', script], { MODEL })).toMatchObject({ output: 'hello child\n', code: 0 });
  const shell = 'echo "$DESK_PLACE" | cat /dev/stdin; cat <(echo "$MODEL") > /tmp/own; wc -l < /tmp/own; pwd; exit 3';
  expect(await outputOf(['bash', '-c', shell], { MODEL })).toEqual({
    output: `here\n1\n${agentFolder}\n`,
    errors: '',
    code: 3,
  });
});
