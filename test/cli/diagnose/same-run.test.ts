// tier: unit
import type { Client } from '@temporalio/client';
import { hasRun, runIdOf } from '../../../cli/diagnose/same-run';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { CONVERSATIONS } from '../../../contracts/config/environment-kinds';

const spec = (more: object = {}) =>
  agentSpecSchema.parse({ version: 1, name: 'desk', environment: CONVERSATIONS, ...more });
const conversations = [
  { id: 'a', success: true },
  { id: 'b', success: false },
];

test('the same conversations, outcomes, agent.yaml and analyst have the same run', () => {
  const id = runIdOf(spec(), conversations, { model: 'm' });
  expect(id).toMatch(/^run-desk-[0-9a-f]{16}$/);
  expect(runIdOf(spec(), [...conversations], { model: 'm' })).toBe(id);
  const others = [
    runIdOf(spec(), conversations.slice(1), { model: 'm' }),
    runIdOf(spec(), [{ id: 'a', success: false }, conversations[1]!], { model: 'm' }),
    runIdOf(spec({ identify: { runs: 3 } }), conversations, { model: 'm' }),
    runIdOf(spec(), conversations, { model: 'n' }),
  ];
  expect(new Set([id, ...others]).size).toBe(5);
});

test.each([
  ['RUNNING', null, true],
  ['FAILED', null, false],
  ['COMPLETED', null, true],
  // `whet gc` removes reports.
  ['COMPLETED', '/reports/that-were-removed', false],
])('a run that is %s with the report %s is used: %s', async (name, reportDirectory, used) => {
  const handle = {
    describe: () => Promise.resolve({ status: { name } }),
    result: () => Promise.resolve({ reportDirectory }),
  };
  const client = { workflow: { getHandle: () => handle } } as unknown as Client;
  expect(await hasRun(client, 'run-desk-1')).toBe(used);
});
