// tier: unit
import type { Registry } from '../../contracts';
import { activate, rollBack } from '../../cli/commands/registry';
import { parseSpan } from '../../cli/commands/schedule';
import { newRunId } from '../../cli/run-id';
import { readSettings } from '../../cli/settings';
import { duration, table } from '../../cli/output';

const version = (n: number): Registry['versions'][number] => ({
  version: n,
  runId: `run-${n}`,
  createdAt: '2026-11-21T00:00:00Z',
  baseModelSha256: 'a'.repeat(64),
  adapters: [],
  routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
});
const registry = (active: number | null, ...versions: number[]): Registry => ({ agent: 'desk', active, versions: versions.map(version) });

describe('registry', () => {
  test('promote makes a version active', () => expect(activate(registry(1, 1, 2), 2).active).toBe(2));
  test('promote refuses a version that is not there and lists those that are', () =>
    expect(() => activate(registry(1, 1, 2), 7)).toThrow('has no version 7. It has: 1, 2.'));
  test('rollback goes to the version before', () => expect(rollBack(registry(3, 1, 2, 3)).active).toBe(2));
  test('rollback from the first goes to the base model alone', () => expect(rollBack(registry(1, 1)).active).toBeNull());
  test('rollback from the base model is refused', () => expect(() => rollBack(registry(null, 1))).toThrow('nothing to go back from'));
});

describe('settings', () => {
  test('name the variable, its value and what is allowed', () => {
    expect(() => readSettings({ WHET_MODEL_PORT: '99999' })).toThrow('WHET_MODEL_PORT="99999": must be a port number from 1 to 65535.');
  });
  test('take an empty variable as unset', () =>
    expect(readSettings({ TEMPORAL_ADDRESS: '', WHET_HOME: '' }, '/x')).toMatchObject({ temporalAddress: null, home: '/x/.whetstone' }));
  test('put the store into the state directory', () => expect(readSettings({ WHET_HOME: 'state' }, '/x').storeRoot).toBe('/x/state/store'));
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
  expect(newRunId('orders-desk', new Date('2026-11-21T02:03:04.567Z'))).toMatch(/^run-orders-desk-20261121-020304-[0-9a-f]{4}$/);
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
