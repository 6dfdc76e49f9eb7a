// Tier: jail (the built command in a process of its own, real jail; no services).
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';

const FOLDER = join(projectRoot(), 'examples', 'smallest');

const whet = (...args: string[]) =>
  spawnSync(process.execPath, [join(projectRoot(), 'dist/cli/main.js'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, WHET_HOME: join(tmpdir(), `whet-smallest-${process.pid}`) },
  });

test('the smallest environment has at most 40 lines, and its reference solution succeeds', () => {
  expect(readFileSync(join(FOLDER, 'environment.py'), 'utf8').trim().split('\n').length).toBeLessThanOrEqual(40);
  const { status, stdout } = whet('env', 'run', join(FOLDER, 'environment.py'), '--seed', '3', '--reference');
  expect(stdout).toMatch(/^reward: 1$/m);
  expect(status).toBe(0);
});

test('the smallest agent is valid, and its tasks are solved by their reference solutions', () => {
  const { status, stdout } = whet('validate', join(FOLDER, 'agent.yaml'));
  expect(stdout).toContain('valid (agent parcels, its environment starts; the reference solutions of 8 train and 8');
  expect(status).toBe(0);
});
