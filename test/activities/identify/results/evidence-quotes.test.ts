// tier: unit
import { bestEvidence, quoteEvidence } from '../../../../activities/identify/results/evidence-quotes';
import type { ConsensusLabel } from '../../../../contracts/artifacts/identification';
import type { Trajectory } from '../../../../contracts/artifacts/trajectory';

const call = (name: string) => ({ id: 'c', type: 'function' as const, function: { name, arguments: '{}' } });
const trajectory = (split: Trajectory['task']['split']): Trajectory => ({
  ...{ id: '1'.repeat(64), task: { seed: 3, split }, trial: 0, model: 'm', samplingSeed: 0 },
  messages: [
    { role: 'system', content: 'Rules.' },
    { role: 'user', content: 'Cancel\n order 7.' },
    { role: 'assistant', content: null, tool_calls: [call('find'), call('cancel')] },
    { role: 'tool', content: 'done '.repeat(200) },
    { role: 'assistant', content: 'It is cancelled.' },
    { role: 'user', content: 'Bye.' },
  ],
  ...{ reward: 0, success: false, finish: 'done', steps: 2, tags: [], diagnostics: {} },
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
});
const label = (step: number): ConsensusLabel => ({
  ...{ trajectoryId: '1'.repeat(64), capabilityId: 'ask-first', label: 'LACKING', step, reason: 'It did not ask.' },
  votes: { NA: 0, PRESENT: 1, LACKING: 4 },
});

test('the step of a conversation is quoted among the messages around it, without instructions', () => {
  const quote = quoteEvidence(label(2), trajectory('live'))!;
  expect(quote).toMatchObject({ quote: 'assistant: find {}; cancel {}', runsLacking: 4, runs: 5 });
  expect(quote.passage!.map(({ role, isStep }) => [role, isStep])).toEqual([
    ['user', undefined],
    ['assistant', true],
    ['tool', undefined],
    ['assistant', undefined],
  ]);
  expect(quote.passage![0]!.text).toBe('Cancel order 7.');
  expect(quote.passage![2]!.text.length).toBeLessThan(500);
});

test('equal conversations are quoted once', () => {
  const other = { ...label(2), trajectoryId: '2'.repeat(64) };
  const failures = [label(2), label(2), other].map((one, trajectory) => ({ label: one, trajectory }));
  expect(
    bestEvidence(failures, 1)
      .map(({ label: { trajectoryId } }) => trajectoryId)
      .sort(),
  ).toEqual(['1'.repeat(64), '2'.repeat(64)]);
});

test('a task, which can be played again, is quoted with its step alone', () => {
  expect(quoteEvidence(label(2), trajectory('train'))).not.toHaveProperty('passage');
  expect(quoteEvidence(label(9), trajectory('live'))).toBeNull();
});
