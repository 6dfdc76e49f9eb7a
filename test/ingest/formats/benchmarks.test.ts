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

it("reads verifiers' graph as one conversation, of whose branches few are kept where all repeat a long message", async () => {
  const node = (text: string, parent: number | null) => ({ message: { role: 'user', content: text }, parent });
  const graph = (root: string) => [node(root, null), ...Array.from({ length: 64 }, (_, i) => node(`leaf ${i}`, 0))];
  const path = join(folder, 'wide.jsonl');
  const traces = [
    { id: 'long', nodes: [...graph('x'.repeat(1_500_000)), node('on', 64)], reward: 1 },
    { id: 'round', nodes: [node('a', 1), node('b', 0)], reward: 1 },
    { id: 'short', nodes: graph('x'), reward: 1 },
  ];
  writeFileSync(path, traces.map((trace) => `${JSON.stringify(trace)}\n`).join(''));
  const { conversations, result } = await run([path]);
  expect(
    conversations.map(({ id, messages, branches }) => [id, messages.length, branches?.count, branches?.kept.length]),
  ).toEqual([
    ['long', 3, 63, 2],
    ['short', 2, 63, 8],
  ]);
  expect(result.formats[0]?.leftOut).toMatchObject([{ reason: 'a graph without a root (nodes.parent)', count: 1 }]);
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
