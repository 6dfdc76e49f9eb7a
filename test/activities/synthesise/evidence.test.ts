// tier: unit
import { chooseEvidence, sampleTarget } from '../../../activities/synthesise/evidence';
import type { ConsensusLabel, Label } from '../../../contracts/artifacts/identification';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';

const record = (trajectoryId: string, label: Label | null, runs = 1): ConsensusLabel => ({
  trajectoryId,
  capabilityId: 'c',
  label,
  step: 1,
  reason: 'because',
  votes: {
    NA: label === 'NA' ? runs : 0,
    PRESENT: label === 'PRESENT' ? runs : 3 - runs,
    LACKING: label === 'LACKING' ? runs : 0,
  },
});

describe('evidence', () => {
  const labels = Array.from({ length: 40 }, (_, i) => record(`t${i}`, i % 2 === 0 ? 'LACKING' : 'PRESENT'));
  const success = new Map(labels.map(({ trajectoryId }, i) => [trajectoryId, i % 3 === 0]));

  test('is failures that lack it, then successes that show it, a few of each', () => {
    const chosen = chooseEvidence(labels, success, 1);
    expect(chosen.map(({ label, trajectoryId }) => [label, success.get(trajectoryId)])).toEqual([
      ...Array(4).fill(['LACKING', false]),
      ...Array(3).fill(['PRESENT', true]),
    ]);
  });

  test('depends on seed and ids, not on the order of the labels', () => {
    expect(chooseEvidence([...labels].reverse(), success, 1)).toEqual(chooseEvidence(labels, success, 1));
    expect(chooseEvidence(labels, success, 2)).not.toEqual(chooseEvidence(labels, success, 1));
  });

  test('is what the labelling runs agree on, before what they are split about', () => {
    const all = Array.from({ length: 40 }, (_, i) => record(`t${i}`, 'LACKING', i >= 37 ? 3 : 2));
    const chosen = chooseEvidence(all, new Map(all.map(({ trajectoryId }) => [trajectoryId, false])), 1);
    expect(
      chosen
        .slice(0, 3)
        .map(({ trajectoryId }) => trajectoryId)
        .sort(),
    ).toEqual(['t37', 't38', 't39']);
  });

  test('is empty when nothing fits', () => {
    expect(chooseEvidence([record('t', null), record('u', 'NA')], new Map([['t', false]]), 1)).toEqual([]);
  });
});

describe('samples of the target', () => {
  const episode = (observation: string, args = '{}'): Trajectory => {
    const base = syntheticEpisode(1);
    const call = { id: 'a', type: 'function' as const, function: { name: 'get', arguments: args } };
    return {
      ...base,
      messages: [
        ...base.messages.slice(0, 2),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', content: observation, tool_call_id: 'a' },
      ],
    };
  };

  test('show each form of an observation once, at most three of a tool', () => {
    const { calls } = sampleTarget([
      episode('{"n":12}'),
      episode('{"n":99}'),
      episode('{"error":"no"}'),
      episode('third'),
      episode('fourth'),
    ]);
    expect(calls.map(({ observation }) => observation)).toEqual(['{"n":12}', '{"error":"no"}', 'third']);
  });

  test('hold the system message and distinct opening messages', () => {
    const { system, openings } = sampleTarget(Array.from({ length: 30 }, (_, i) => syntheticEpisode(i % 20)));
    expect(system).toBe('You are a test agent.');
    expect(openings).toHaveLength(8);
    expect(new Set(openings).size).toBe(8);
  });

  test('leave out calls that were never answered', () => {
    const unanswered = episode('x');
    unanswered.messages.pop();
    expect(sampleTarget([unanswered]).calls).toEqual([]);
  });
});
