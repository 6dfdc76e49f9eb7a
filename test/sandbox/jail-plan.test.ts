// unit
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadProfile } from '../../sandbox';
import { jailPlan } from '../../sandbox/jail-plan';

const HOUR_MS = 60 * 60 * 1000;
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'python-root-'))));
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

test('a worker that runs for weeks makes its plan once a day, which marks its Python tree as used', async () => {
  // Stands for the interpreter that runs jail_plan.py: it counts its starts.
  const interpreter = join(folder, 'python3');
  const cgroup = { layer: 'none', controllers: [] };
  const printed = JSON.stringify({ limits: ['prlimit'], command: ['bwrap'], arguments: [], cgroup, filter: 'AAE=' });
  writeFileSync(interpreter, `#!/bin/sh\necho started >> ${folder}/starts\necho '${printed}'\n`, { mode: 0o755 });
  const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').split('\n').length - 1;
  const begun = Date.now();
  const clock = jest.spyOn(Date, 'now').mockReturnValue(begun);
  const profile = loadProfile();
  const [first, second] = await Promise.all([jailPlan(profile, interpreter), jailPlan(profile, interpreter)]);
  expect(first).toEqual({ ...(JSON.parse(printed) as object), filter: Buffer.from([0, 1]) });
  expect(second).toBe(first);
  clock.mockReturnValue(begun + 23 * HOUR_MS);
  await jailPlan(profile, interpreter);
  expect(starts()).toBe(1);
  clock.mockReturnValue(begun + 25 * HOUR_MS);
  expect(await jailPlan(profile, interpreter)).toEqual(first);
  expect(starts()).toBe(2);
});
