// tier: integration
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAgent } from '../../../cli/agent';
import { agentOfFile, makeAgentFile } from '../../../cli/diagnose/agent-file';
import { isPlayable } from '../../../contracts/config/environment-kinds';

test.each([
  ['/data/Support Desk.2026.jsonl.gz', 'support-desk'],
  ['export', 'export'],
  ['2026-11-29.jsonl', null],
  ['/data/', 'data'],
  ['…', null],
  [`${'long'.repeat(30)}.jsonl`, null],
])('the agent of %j is %j', (file, name) => {
  expect(agentOfFile(file)).toBe(name);
});

test('an agent.yaml is written once, and what its owner changes stays', async () => {
  const home = mkdtempSync(join(tmpdir(), 'whet-agent-file-'));
  try {
    const path = await makeAgentFile(home, 'desk');
    expect(path).toBe(join(home, 'diagnose', 'desk', 'agent.yaml'));
    const { spec } = readAgent(path);
    expect([spec.name, isPlayable(spec.environment)]).toEqual(['desk', false]);
    // What was not counted when the owner agreed to the cost is not labelled.
    expect(spec.collect.live.most).toBe(0);
    writeFileSync(path, readFileSync(path, 'utf8').replace('# analyst:', 'analyst:'));
    expect(await makeAgentFile(home, 'desk')).toBe(path);
    expect(readAgent(path).spec.analyst.pricePerMillionOutput).toBe(10);
  } finally {
    rmSync(home, { recursive: true });
  }
});
