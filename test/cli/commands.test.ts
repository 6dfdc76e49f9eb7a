// tier: unit
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Registry } from '../../contracts/artifacts/registry';
import { promoteCommand, rollbackCommand } from '../../cli/commands/registry';
import { parseSpan } from '../../cli/commands/schedule';
import { newRunId } from '../../cli/run-id';
import { readSettings } from '../../cli/settings';
import { createOutput, duration, table } from '../../cli/output';
import type { Context } from '../../cli/context';
import { layout, LocalStore, readRegistry } from '../../store';

const version = (n: number): Registry['versions'][number] => ({
  version: n,
  runId: `run-${n}`,
  createdAt: '2026-11-21T00:00:00Z',
  baseModelSha256: 'a'.repeat(64),
  adapters: [],
  routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
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

describe('settings', () => {
  test('name the variable, its value and what is allowed', () => {
    expect(() => readSettings({ WHET_MODEL_PORT: '99999' })).toThrow(
      'WHET_MODEL_PORT="99999": must be a port number from 1 to 65535.',
    );
  });
  test('take an empty variable as unset', () =>
    expect(readSettings({ TEMPORAL_ADDRESS: '', WHET_HOME: '' }, '/x')).toMatchObject({
      temporalAddress: null,
      home: '/x/.whetstone',
    }));
  test('put the store into the state directory', () =>
    expect(readSettings({ WHET_HOME: 'state' }, '/x').storeRoot).toBe('/x/state/store'));
  test('see that an analyst is configured', () => {
    expect(readSettings({}).analystConfigured).toBe(false);
    expect(readSettings({ OPENAI_API_KEY: 'k' }).analystConfigured).toBe(true);
  });
});

test('spans have a unit', () => {
  expect(parseSpan('--jitter', '10m')).toBe(600_000);
  expect(() => parseSpan('--jitter', 'ten')).toThrow('--jitter "ten": a whole number with s, m, h or d');
});

test('run ids sort by time and name the agent', () => {
  expect(newRunId('orders-desk', new Date('2026-11-21T02:03:04.567Z'))).toMatch(
    /^run-orders-desk-20261121-020304-[0-9a-f]{4}$/,
  );
});

test.each([
  [0.44, '0.4 s'],
  [12.4, '12 s'],
  [185, '3 min 05 s'],
  [7800, '2 h 10 min'],
])('%d seconds are said as %s', (seconds, text) => expect(duration(seconds)).toBe(text));

test('a table aligns its columns', () => {
  expect(
    table(
      [
        ['a', 'bb', 'c'],
        ['aaa', 'b', 'cc'],
      ],
      [1],
    ),
  ).toBe('a    bb  c\naaa   b  cc');
});
