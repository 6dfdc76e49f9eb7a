// tier: integration
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run } = ingesting();

it.each(['openai', 'langchain'])('reads runs of %s as one conversation, with the feedback', async (name) => {
  const { conversations, read } = await run([fixture(`langsmith/${name}.jsonl`)]);
  const plain = (lines: string[]) =>
    lines.map((line) => (line.startsWith('assistant') ? line.replace(/": "/g, '":"') : line));
  expect(conversations.map(brief).map(plain)).toEqual([plain(REFUND)]);
  expect(conversations[0]).toMatchObject({
    ...{ format: 'langsmith', model: 'small-1' },
    tools: [{ function: { name: 'find_order' } }, { function: { name: 'refund' } }],
  });
  expect(read.trajectories).toMatchObject([{ success: true, reward: 1, steps: 2 }]);
});

it('keeps the runs of a trace together, where no thread is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-test-langsmith-'));
  const runs = ['plan', 'act'].map((content, place) => ({
    ...{ id: `run-${place}`, trace_id: 'trace', parent_run_id: 'trace', run_type: 'llm' },
    inputs: { messages: [{ role: 'user', content }] },
    outputs: { choices: [{ message: { role: 'assistant', content: 'done' } }] },
  }));
  const path = join(folder, 'runs.jsonl');
  writeFileSync(path, runs.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const { conversations } = await run([path]);
  rmSync(folder, { recursive: true });
  expect(conversations.map(({ id, branches }) => [id, branches?.count])).toEqual([['trace', 1]]);
});
