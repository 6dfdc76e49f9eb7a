// unit
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pythonRoot } from '../../sandbox/python-root';

const HOUR_MS = 60 * 60 * 1000;
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'python-root-'))));
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

test('a worker that runs for weeks asks for its tree once a day, which marks it as used', async () => {
  // Stands for the interpreter that runs python_root.py: it counts its starts.
  const interpreter = join(folder, 'python3');
  writeFileSync(interpreter, `#!/bin/sh\necho started >> ${folder}/starts\necho /some/tree\n`, { mode: 0o755 });
  const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').split('\n').length - 1;
  const begun = Date.now();
  const clock = jest.spyOn(Date, 'now').mockReturnValue(begun);
  expect(await Promise.all([pythonRoot(interpreter), pythonRoot(interpreter)])).toEqual(['/some/tree', '/some/tree']);
  clock.mockReturnValue(begun + 23 * HOUR_MS);
  await pythonRoot(interpreter);
  expect(starts()).toBe(1);
  clock.mockReturnValue(begun + 25 * HOUR_MS);
  expect(await pythonRoot(interpreter)).toBe('/some/tree');
  expect(starts()).toBe(2);
});
