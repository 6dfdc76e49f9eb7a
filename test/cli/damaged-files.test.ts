// tier: integration
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { down, endLeftovers, withUpLock } from '../../cli/up';
import { runCommandLine } from '../../cli/run-command-line';
import { readSettings } from '../../cli/settings';
import { createOutput } from '../../cli/output';
import { readKeptState, type SupervisorState } from '../../cli/supervisor/supervisor-state';
import { SEARCH_ATTRIBUTES } from '../../contracts/names';
import { layout } from '../../store';
import { writeDocument } from '../helpers/stored-document';
import { startTemporal } from '../helpers/temporal';

const home = mkdtempSync(join(tmpdir(), 'whet-torn-'));
const before = { ...process.env };
const RUN = 'run-desk-20261122-000000-abcd';

let server: TestWorkflowEnvironment;
beforeAll(async () => {
  server = await startTemporal();
  await server.client.workflow.start('improvementRun', {
    workflowId: RUN,
    taskQueue: 'whet-orchestration',
    args: [{}],
    memo: { agent: 'desk' },
    searchAttributes: { [SEARCH_ATTRIBUTES.agent]: ['desk'] },
  });
  process.env['WHET_HOME'] = home;
  process.env['TEMPORAL_ADDRESS'] = server.address;
});
afterAll(async () => {
  process.env = before;
  await server?.teardown();
  rmSync(home, { recursive: true, force: true });
});

/** Runs `whet` in this process and keeps what it says. */
async function whet(...argv: string[]): Promise<{ code: number; said: string }> {
  let said = '';
  const keep = (text: string | Uint8Array): boolean => {
    said += text.toString();
    return true;
  };
  const spy = jest.spyOn(process.stdout, 'write').mockImplementation(keep);
  try {
    const code = await runCommandLine(argv, { stdout: process.stdout, stderr: { write: keep } });
    return { code, said };
  } finally {
    spy.mockRestore();
  }
}

const deadState: SupervisorState = {
  instance: 'dead',
  supervisor: { pid: process.pid, startTicks: 1 },
  startedAt: '2026-11-22T00:00:00.000Z',
  agentPath: null,
  modelSeed: null,
  temporal: { address: '127.0.0.1:1', namespace: 'default', uiUrl: null },
  services: [],
  disk: null,
};

/** Files under WHET_HOME, each with whole content and the commands that read it. */
const FILES: Record<string, { content: unknown; commands: string[][]; isDocument?: true }> = {
  'supervisor.json': { content: deadState, commands: [['status'], ['ls'], ['down']] },
  [`store/${layout.registry('desk')}`]: {
    isDocument: true,
    content: { agent: 'desk', active: null, versions: [] },
    commands: [
      ['promote', 'desk', '1'],
      ['rollback', 'desk'],
      ['canary', 'desk'],
    ],
  },
  [`store/${layout.budget(RUN)}`]: {
    isDocument: true,
    content: { tokens: 1_000 },
    commands: [['budget', RUN, '--tokens', '2000']],
  },
  [`store/${layout.analystUse(RUN)}`]: {
    isDocument: true,
    content: { uses: {}, counted: {} },
    commands: [['budget', RUN]],
  },
  [`store/${layout.run(RUN)}/spec-0123456789ab.json`]: { content: { spec: {} }, commands: [['budget', RUN]] },
};
const DAMAGES: Record<string, (whole: string) => string> = {
  empty: () => '',
  'cut in half': (whole) => whole.slice(0, whole.length / 2),
  garbage: () => '\u0000\u0001}{ [ null',
  'another form': () => '[1, "two", null]',
};
describe.each(Object.keys(FILES))('%s', (name) => {
  test.each(Object.keys(DAMAGES))(
    '%s: every command says in a sentence what is wrong, or goes on without it',
    async (kind) => {
      const path = join(home, name);
      const { content, commands, isDocument } = FILES[name]!;
      for (const command of commands) {
        mkdirSync(dirname(path), { recursive: true });
        const whole = `${JSON.stringify(content, null, 2)}\n`;
        const text = DAMAGES[kind]!(whole);
        if (isDocument) writeDocument(path, text, kind === 'another form' ? text : whole);
        else writeFileSync(path, text);
        const { code, said } = await whet(...command);
        const told = `whet ${command.join(' ')} -> ${code}: ${said}`;
        expect(told).not.toMatch(/unexpected error|\n {4}at |undefined/);
        const what = isDocument ? ' is damaged: .*\\. (Restore|Move)' : ' its hash says\\. whet repair ';
        if (name.startsWith('store/')) expect(told).toMatch(new RegExp(`-> 1: whet: ${path}.*${what}`));
      }
      for (const left of [path, `${path}.versions`]) rmSync(left, { force: true, recursive: true });
    },
  );
});

describe('a damaged supervisor.json', () => {
  const out = { ...createOutput(true), line: (text = '') => void lines.push(text) };
  const lines: string[] = [];
  const settings = () => readSettings({ WHET_HOME: home });

  test('is removed by `whet down` and by the next `whet up`, which say so', async () => {
    for (const clean of [
      () => down(settings(), out),
      () => withUpLock(settings(), out, () => endLeftovers(settings(), out)),
    ]) {
      writeFileSync(join(home, 'supervisor.json'), '{"instance": "x"');
      lines.length = 0;
      await clean();
      expect(lines).toEqual([
        `${join(home, 'supervisor.json')} cannot be used: it is not a whole state document. It is removed.`,
      ]);
      expect(readKeptState(home)).toEqual({ kind: 'none' });
    }
  });

  test.each([
    ['a pipe', (path: string) => execFileSync('mkfifo', [path]), 'it is not a file'],
    [
      'far too large',
      (path: string) => writeFileSync(path, ' '.repeat(1_000_001)),
      'it has 1000001 bytes, and at most 1000000 are read',
    ],
  ])('%s is not waited for or read', (_name, make, reason) => {
    const path = join(home, 'supervisor.json');
    make(path);
    expect(readKeptState(home)).toEqual({ kind: 'damaged', path, reason });
    rmSync(path);
  });
});

test('one `whet up` or `whet down` at a time decides; the lock ends with its process and leaves no file', async () => {
  const order: string[] = [];
  const lines: string[] = [];
  const settings = readSettings({ WHET_HOME: home });
  const out = { ...createOutput(true), line: (text = '') => void lines.push(text) };
  const one = (name: string) =>
    withUpLock(settings, out, async () => {
      order.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push(`${name} ends`);
    });
  await Promise.all(['a', 'b', 'c', 'd'].map(one));
  expect(order).toHaveLength(8);
  for (let i = 0; i < 8; i += 2) expect(order[i]!.replace('begins', 'ends')).toBe(order[i + 1]);
  expect(lines).toContain(`Waiting for process ${process.pid}, which starts or stops the services here.`);
  expect(readdirSync(home).filter((name) => name.includes('lock'))).toEqual([]);
});

test('the state directory is for its owner alone, also where an older version left it open', async () => {
  const open = join(home, 'open');
  for (const made of [false, true]) {
    if (made) chmodSync(open, 0o755);
    await withUpLock(readSettings({ WHET_HOME: open }), { ...createOutput(true) }, () => Promise.resolve());
    expect(statSync(open).mode & 0o777).toBe(0o700);
  }
  // In a cluster the group of the pods reads it.
  process.env['KUBERNETES_SERVICE_HOST'] = '10.0.0.1';
  chmodSync(open, 0o770);
  try {
    await withUpLock(readSettings({ WHET_HOME: open }), { ...createOutput(true) }, () => Promise.resolve());
    expect(statSync(open).mode & 0o777).toBe(0o770);
  } finally {
    delete process.env['KUBERNETES_SERVICE_HOST'];
  }
});

test('a state directory that belongs to somebody else, or is none, is a sentence', async () => {
  const file = join(home, 'a-file');
  writeFileSync(file, '');
  process.env['WHET_HOME'] = join(file, 'home');
  try {
    const { code, said } = await whet('down');
    expect(code).toBe(1);
    expect(said).toMatch(/^whet: .*a-file.*: a part of the path is a file, not a directory\. Move that file away/);
  } finally {
    process.env['WHET_HOME'] = home;
  }
});

describe('usage errors', () => {
  test('with --json are a document with type and message', async () => {
    for (const [argv, message] of [
      [['nonsense', '--json'], "unknown command 'nonsense'"],
      [['why', '--json'], "missing required argument 'run'"],
      [['ls', '--limit', 'x', '--json'], "argument 'x' is invalid"],
      [['ls', '--nonsense', '--json'], "unknown option '--nonsense'"],
      [['env', '--json'], "unknown option '--json'"],
      [['env', 'nonsense', '--json'], 'unknown'],
    ] as const) {
      const { code, said } = await whet(...argv);
      expect(code).toBe(2);
      const { error } = JSON.parse(said) as { error: { type: string; message: string } };
      expect(error.type).toBe('Cli.Usage');
      expect(error.message).toContain(message);
    }
  });

  test('--version prints the version, as a document with --json', async () => {
    const { version } = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(JSON.parse((await whet('--version', '--json')).said)).toEqual({ version });
  });
});
