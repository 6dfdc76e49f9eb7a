// tier: unit
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentPathNear, readAgent } from '../../cli/agent';

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

test('a folder in the place of agent.yaml is refused with the file in it', () => {
  const [bare, full] = [join(folder, 'bare'), join(folder, 'full')];
  for (const one of [bare, full]) mkdirSync(one);
  writeFileSync(join(full, 'agent.yaml'), '');
  expect(() => readAgent(bare)).toThrow(`${bare}: is a folder. There is no agent.yaml in it.`);
  expect(() => readAgent(full)).toThrow(`${full}: is a folder. Name the file in it: ${join(full, 'agent.yaml')}`);
});

test('a Python file in the place of agent.yaml is refused with the agent near it', () => {
  const alone = mkdtempSync(join(tmpdir(), 'whet-python-'));
  const file = join(alone, 'environment.py');
  writeFileSync(file, 'class Environment: pass\n');
  expect(() => readAgent(file)).toThrow(`${file}: is a Python file. Name an agent.yaml.`);
  writeFileSync(join(alone, 'agent.yaml'), '');
  expect(() => readAgent(file)).toThrow(`Name the agent.yaml near it: ${join(alone, 'agent.yaml')}`);
  rmSync(alone, { recursive: true });
});
