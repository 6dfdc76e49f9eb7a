// tier: integration
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run } = ingesting();
const file = (name: string) => fixture(`langfuse/${name}`);

it.each([[['trace.json']], [['download.json']], [['observations.jsonl', 'scores.json']]])(
  'reads %s as one conversation, with its score',
  async (names) => {
    const { conversations, read } = await run(names.map(file));
    expect(conversations.map(brief)).toEqual([REFUND]);
    expect(conversations[0]).toMatchObject({
      ...{ id: expect.stringMatching(/^[0-9a-f]{32}$/), format: 'langfuse', model: 'small-1' },
      tools: [{ function: { name: 'find_order' } }, { function: { name: 'refund' } }],
    });
    expect(read.trajectories).toMatchObject([{ success: true, reward: 1, steps: 2 }]);
  },
);

it('knows a conversation again in another form of export', async () => {
  await run([file('trace.json')], { agent: 'twice' });
  const { result } = await run([file('download.json'), file('observations.jsonl')], { agent: 'twice' });
  expect(result).toMatchObject({ formats: [{ conversations: 1, added: 0, known: 1 }], outcomes: 0 });
});

it('reads a session of many traces, whose scores must agree, of which the last ones count', async () => {
  const session = async (...last: number[]) => {
    const turns = Array.from({ length: 30 }, (_, turn) => ({
      ...{ id: `t${turn}`, sessionId: 's', timestamp: `2026-01-01T00:00:${turn + 10}Z`, tags: [], observations: [] },
      input: Array.from({ length: turn + 1 }, (_, place) => ({ role: 'user', content: `turn ${place}` })),
      scores: (turn === 29 ? last : turn < 2 ? [1] : []).map((value, place) => ({
        ...{ name: 'ok', value, timestamp: `2026-01-0${9 - place}T00:00:00Z` },
      })),
    }));
    const folder = mkdtempSync(join(tmpdir(), 'whet-test-langfuse-'));
    const path = join(folder, 'traces.json');
    writeFileSync(path, JSON.stringify(turns));
    const { result, read } = await run([path]);
    rmSync(folder, { recursive: true });
    return [read.trajectories.map(({ success }) => success), result.noOutcome.map(({ places }) => places)];
  };
  expect(await session(0)).toEqual([[], [['s']]]);
  // The newest comes first.
  expect(await session(1, 0)).toEqual([[true], []]);
});
