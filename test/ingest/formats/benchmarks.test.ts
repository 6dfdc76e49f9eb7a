// tier: integration
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { trajectoryId } from '../../../contracts/artifacts/trajectory-id';
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run, folder } = ingesting();
const plain = (lines: string[]) =>
  lines.map((line) => (line.startsWith('assistant') ? line.replace(/": "/g, '":"') : line));
const GREETING = 'assistant: Hi! How can I help you today?';

it("reads tau2's simulations with policy and reward, without what the user did", async () => {
  const { conversations, read } = await run([fixture('tau2/results.json')]);
  const [bad, good] = conversations;
  const [policy = '', ...rest] = REFUND;
  expect(brief(good!)).toEqual(plain([policy, GREETING, ...rest]));
  expect(good).toMatchObject({ id: 'good', model: 'small-1', startedAt: '2026-11-20T10:00:00.000Z' });
  expect(bad?.messages).toHaveLength(6);
  expect(read.trajectories.map(({ success, steps }) => [steps, success]).sort()).toEqual([
    [1, false],
    [2, true],
  ]);
});

it.each(['results', 'traces', 'single-traces'])("reads verifiers' %s with the weighted reward", async (name) => {
  const { conversations, read } = await run([fixture(`verifiers/${name}.jsonl`)]);
  expect(conversations.map(brief)).toEqual([REFUND]);
  expect(read.trajectories).toMatchObject([{ success: true, reward: 1, steps: 2 }]);
});

it("keeps what verifiers' traces have besides: tools, model, and the other path as a branch", async () => {
  const { conversations } = await run([fixture('verifiers/traces.jsonl')]);
  expect(conversations[0]).toMatchObject({
    ...{ id: 'trace-1', aliases: ['episode-1'], model: 'small-1' },
    tools: [{ function: { name: 'find_order' } }, { function: { name: 'refund' } }],
    branches: { count: 1, kept: [[{ role: 'system' }, { role: 'user' }, { role: 'assistant', content: 'No.' }]] },
  });
});

it("reads ATIF's steps, and joins a reward of another file", async () => {
  const outcomes = join(folder, 'rewards.csv');
  writeFileSync(outcomes, 'session_id,reward\nsession-1,1\n');
  const { conversations, read } = await run([fixture('atif/trajectory.json')], { outcomes });
  expect(conversations.map(brief)).toEqual([plain(REFUND)]);
  expect(conversations[0]).toMatchObject({
    ...{ id: 'session-1', model: 'small-1', startedAt: '2026-11-20T10:00:00.000Z' },
    tools: [{ function: { name: 'find_order' } }, { function: { name: 'refund' } }],
  });
  expect(conversations[0]?.messages[2]).toMatchObject({ reasoning_content: 'I find_order.' });
  expect(read.trajectories).toMatchObject([{ success: true }]);
});

it("reads the gateway's own lines: a conversation that went on is one, and its threshold counts", async () => {
  const line = (turns: number, reward: number, success: boolean): Trajectory => {
    const task = { seed: 7, split: 'live' as const };
    const messages = Array.from({ length: turns }, (_, i) => ({ role: 'user' as const, content: `turn ${i}` }));
    return {
      ...{ id: trajectoryId({ task, trial: 0, model: 'base', messages }), task, trial: 0, model: 'base' },
      ...{ samplingSeed: 0, messages, reward, success, finish: 'done', steps: 0, tags: [], diagnostics: {} },
      usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
    };
  };
  const path = join(folder, 'live.jsonl');
  const lines = [line(2, 0.4, true), line(3, 0.9, false)];
  writeFileSync(path, lines.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const { read } = await run([path]);
  expect(read.trajectories).toEqual([
    expect.objectContaining({ task: { seed: 7, split: 'live' }, reward: 0.9, success: false }),
  ]);
  expect(read.trajectories[0]?.messages).toHaveLength(3);
});
