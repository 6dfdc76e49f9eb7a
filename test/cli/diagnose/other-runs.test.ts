// tier: unit
import type { Client } from '@temporalio/client';
import type { Agent } from '../../../cli/agent';
import { endEarlierRuns } from '../../../cli/diagnose/other-runs';

test('an earlier run of the agent is ended, and of others it says how', async () => {
  const open = [
    { workflowId: 'run-desk-new', memo: { specPath: '/desk/agent.yaml' } },
    { workflowId: 'run-desk-old', memo: { specPath: '/desk/agent.yaml' } },
    { workflowId: 'run-shop', memo: { specPath: '/shop/agent.yaml' } },
    { workflowId: 'run-odd' },
  ];
  const ended: string[] = [];
  const said: string[] = [];
  const client = {
    workflow: {
      list: async function* () {
        yield* await Promise.resolve(open);
      },
      getHandle: (id: string) => ({ cancel: () => Promise.resolve(void ended.push(id)) }),
    },
  } as unknown as Client;
  const out = {
    live: false,
    line: (text = '') => void said.push(text),
    result: () => undefined,
    redraw: () => undefined,
  };
  await endEarlierRuns(client, { path: '/desk/agent.yaml' } as Agent, 'run-desk-new', out);
  expect(ended).toEqual(['run-desk-old']);
  expect(said).toEqual([
    expect.stringContaining('ended run-desk-old'),
    expect.stringContaining('`whet cancel run-shop` ends it'),
    expect.stringContaining('run-odd goes on beside it'),
  ]);
});
