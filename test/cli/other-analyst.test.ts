// tier: unit
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readAgent } from '../../cli/agent';
import { otherAnalyst } from '../../cli/other-analyst';
import type { SupervisorState } from '../../cli/supervisor/supervisor-state';
import { writeSmallAgent } from './small-agent';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'whet-analysts-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** An agent in a folder of its own, with recorded answers if it has any. Returns its path. */
function agentIn(name: string, hasAnswers: boolean): string {
  mkdirSync(join(folder, name));
  const path = writeSmallAgent(join(folder, name));
  const assets = join(dirname(path), 'analyst');
  if (hasAnswers) mkdirSync(assets);
  for (const file of hasAnswers ? ['capabilities.json', 'labels.py'] : []) writeFileSync(join(assets, file), '');
  return path;
}

/** The services of an agent, as far as it matters here. */
const upFor = (agentPath: string, ...names: string[]) =>
  ({ agentPath, services: names.map((name) => ({ name })) }) as unknown as SupervisorState;

it('refuses a run whose own answers are not those that are played', () => {
  const [first, second] = [agentIn('first', true), agentIn('second', true)];
  expect(() => otherAnalyst(readAgent(second), upFor(first, 'temporal', 'analyst'))).toThrow(
    `play the analyst of ${first}, not one of ${second}. Stop them with \`whet down\`, then \`whet up ${second}\`.`,
  );
});

it('warns where an agent without answers gets those of another one', () => {
  const [first, second] = [agentIn('first', true), agentIn('second', false)];
  expect(otherAnalyst(readAgent(second), upFor(first, 'analyst'))).toMatch(/were not written for this agent/);
});

it('warns where nothing but the answers of another folder is asked, whatever the agent names', () => {
  const [first, second] = [agentIn('first', false), agentIn('second', true)];
  const recorded = join(dirname(second), 'analyst');
  const analyst = { recorded, isOnly: true, baseUrl: null, model: null };
  expect(otherAnalyst(readAgent(first), { ...upFor(first, 'analyst'), analyst })).toContain(
    `play the analyst of ${recorded}, not one of ${first}. Its answers are recorded`,
  );
  expect(otherAnalyst(readAgent(second), { ...upFor(first, 'analyst'), analyst })).toBeNull();
});

it('says nothing of the own analyst, of a model, and where nothing is up', () => {
  const [first, second] = [agentIn('first', true), agentIn('second', true)];
  expect(otherAnalyst(readAgent(first), upFor(first, 'analyst'))).toBeNull();
  expect(otherAnalyst(readAgent(second), upFor(first, 'temporal', 'worker'))).toBeNull();
  expect(otherAnalyst(readAgent(second), null)).toBeNull();
});
