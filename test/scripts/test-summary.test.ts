// tier: integration (the script as a process)
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'whet-summary-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, seconds: number) => ({
  name: join(ROOT, name),
  status: 'passed',
  startTime: 0,
  endTime: seconds * 1_000,
  assertionResults: [],
});
const result = {
  numPassedTests: 12,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: Array.from({ length: 12 }, (_each, i) => file(`test/f${i}.test.ts`, i + 1)),
};
const cases = [
  ['test.trainer-image.train.test_main', 2.5],
  ['test.examples.test_desk', 4],
  ['test.trainer-image.train.test_main', 2],
].map(([module, seconds]) => `<testcase classname="${module}" name="x" time="${seconds}" />`);
writeFileSync(join(folder, 'jest.json'), JSON.stringify(result));
writeFileSync(join(folder, 'e2e.json'), JSON.stringify({ ...result, numPassedTests: 1, testResults: [] }));
writeFileSync(
  join(folder, 'pytest.xml'),
  `<testsuites><testsuite errors="0" failures="0" skipped="0" tests="3">${cases.join('')}</testsuite></testsuites>`,
);

const summary = (...options: string[]) => {
  const script = join(ROOT, 'scripts', 'test-summary.js');
  const { status, stdout } = spawnSync(process.execPath, [script, folder, ...options], { cwd: ROOT, encoding: 'utf8' });
  return { status, lines: stdout.trim().split('\n') };
};

test('names the ten slowest files of pytest and of jest, the slowest first, and the sum of the tests last', () => {
  const { status, lines } = summary();
  expect(status).toBe(0);
  expect(lines.slice(0, 5)).toEqual([
    'slowest files of pytest:',
    '      4.5 s  test/trainer-image/train/test_main.py',
    '      4.0 s  test/examples/test_desk.py',
    'slowest files of jest:',
    '     12.0 s  test/f11.test.ts',
  ]);
  expect(lines.filter((line) => line.includes('/f'))).toHaveLength(10);
  expect(lines.at(-1)).toBe('16 passed, 0 failed');
});

test('a suite that was asked for and left no result fails, and so does a check', () => {
  const { status, lines } = summary('--with=cluster', 'lint');
  expect(status).toBe(1);
  expect(lines).toContain('cluster: 0 of 1 passed');
  expect(lines).toContain('checks that failed: lint');
  expect(lines.at(-1)).toBe('16 passed, 2 failed');
});
