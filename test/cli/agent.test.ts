// tier: unit
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentPathNear } from '../../cli/agent';

const folder = mkdtempSync(join(tmpdir(), 'whet-agent-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the agent of an environment is the nearest agent.yaml, up to three folders above it', () => {
  const [near, far] = [join(folder, 'lockers', 'analyst', 'environments'), join(folder, 'a', 'b', 'c', 'd')];
  for (const one of [near, far]) mkdirSync(one, { recursive: true });
  expect(agentPathNear(join(near, 'refunds.py'))).toBeNull();
  for (const one of [join(folder, 'agent.yaml'), join(folder, 'lockers', 'agent.yaml')]) writeFileSync(one, '');
  expect(agentPathNear(join(near, 'refunds.py'))).toBe(join(folder, 'lockers', 'agent.yaml'));
  expect(agentPathNear(join(folder, 'a', 'b', 'c', 'refunds.py'))).toBe(join(folder, 'agent.yaml'));
  expect(agentPathNear(join(far, 'refunds.py'))).toBeNull();
});
