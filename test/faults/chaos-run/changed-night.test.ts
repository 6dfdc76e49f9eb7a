// tier: unit
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { modulePath } from '../../../contracts/config/environment-kinds';
import { loadAgentSpec } from '../../../loaders/agent-spec';
import { CHANGED_AGENT, writeAgentBefore } from './changed-night';

const folder = mkdtempSync(join(tmpdir(), 'chaos-changed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('before the change the agent is the same, in a desk that asks for no postal code', () => {
  const agent = resolve(CHANGED_AGENT);
  const { path, remove } = writeAgentBefore(agent, folder);
  try {
    const [before, after] = [loadAgentSpec(path), loadAgentSpec(agent)];
    const environment = modulePath(before.environment)!;
    expect({ ...before, environment: { ...before.environment, path: '' } }).toEqual({
      ...after,
      environment: { ...after.environment, path: '' },
    });
    const source = (file: string) => readFileSync(resolve(agent, '..', file), 'utf8');
    expect(source(environment)).toContain('A new address may end with');
    expect(source(modulePath(after.environment)!)).toContain('A new address ends with');
  } finally {
    remove();
  }
  expect(existsSync(path)).toBe(false);
});

test('an agent of another environment is refused', () => {
  const agent = join(folder, 'agent.yaml');
  writeFileSync(agent, 'environment:\n  path: desk.py\n');
  expect(() => writeAgentBefore(agent, folder)).toThrow('environment.path is not that of the orders desk');
});
