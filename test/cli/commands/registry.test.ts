// tier: unit
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Registry } from '../../../contracts/artifacts/registry';
import { promoteCommand, rollbackCommand } from '../../../cli/commands/registry';
import { readSettings } from '../../../cli/settings';
import { createOutput } from '../../../cli/output';
import { runCommandLine } from '../../../cli/run-command-line';
import type { Context } from '../../../cli/context';
import { layout, LocalStore, readRegistry } from '../../../store';

const version = (n: number): Registry['versions'][number] => ({
  version: n,
  runId: `run-${n}`,
  createdAt: '2026-11-21T00:00:00Z',
  replaced: null,
  baseModelSha256: 'a'.repeat(64),
  adapters: [],
  routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
  judgedRouter: {
    kind: 'base',
    artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
  },
});
const registry = (active: number | null, ...versions: number[]): Registry => ({
  agent: 'desk',
  active,
  versions: versions.map(version),
});

describe('registry', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-registry-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const context: Context = {
    settings: readSettings({ WHET_HOME: folder }),
    out: { ...createOutput(true), result: () => undefined },
  };
  const store = new LocalStore(context.settings.storeRoot);
  const active = async () => (await readRegistry(store, 'desk')).active;

  test('promote and rollback refuse an agent without versions', async () => {
    await expect(promoteCommand(context, 'nobody', 1)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('nobody has no version'),
    });
  });

  test('promote activates a version, rollback the one before, down to the base model', async () => {
    await store.swapDocument(layout.registry('desk'), registry(2, 1, 2, 3), null);
    await promoteCommand(context, 'desk', 3);
    expect(await active()).toBe(3);
    await rollbackCommand(context, 'desk');
    expect(await active()).toBe(2);
    await rollbackCommand(context, 'desk');
    await rollbackCommand(context, 'desk');
    expect(await active()).toBeNull();
    await expect(rollbackCommand(context, 'desk')).rejects.toMatchObject({ exitCode: 2 });
    await expect(promoteCommand(context, 'desk', 9)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('versions: 1, 2, 3'),
    });
  });
});

test.each([
  ['promote', '../../x', '1'],
  ['promote', '../dictionaries/x', '1'],
  ['rollback', 'a\u0000b'],
  ['env', 'edit', '../../x', 'y'],
  ['env', 'edit', 'run-1', '../../../x'],
])('names that lead out of the store are refused in a sentence: %s %s %s', async (...argv: string[]) => {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => Boolean((written[name] += text)) });
  const streams = { stdout: stream('stdout'), stderr: stream('stderr') };
  expect(await runCommandLine(argv, streams)).toBe(2);
  expect(written.stderr).toMatch(/^whet: .* is no place in the store: names .*\n$/);
  written.stdout = '';
  expect(await runCommandLine([...argv, '--json'], streams)).toBe(2);
  expect(JSON.parse(written.stdout)).toMatchObject({ error: { type: 'Cli.Usage' } });
});
