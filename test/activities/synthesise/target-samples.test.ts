// Tier: unit.
import { sampleTarget } from '../../../activities/synthesise/target-samples';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';

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

  test('hold calls that were not accepted, of several tools', () => {
    const { errors } = sampleTarget([
      episode('{"error":"no such room"}', '{"n":1}'),
      episode('{"error":"no such room"}', '{"n":2}'),
      episode('{"ok":false,"why":"full"}'),
      episode('{"errors":null,"room":"Aurora"}'),
      episode('Error: room is missing'),
    ]);
    expect(errors.map(({ observation }) => observation)).toEqual([
      '{"error":"no such room"}',
      '{"ok":false,"why":"full"}',
      'Error: room is missing',
    ]);
  });

  test('tell what the agent says without a call, and whether the episode ends with it', () => {
    const spoken = (...messages: Trajectory['messages']) => ({ ...syntheticEpisode(1), messages });
    const said = { role: 'assistant' as const, content: 'It is done.' };
    const samples = sampleTarget([
      spoken({ role: 'user', content: 'hi' }, said),
      spoken({ role: 'user', content: 'hi' }, said, { role: 'user', content: 'thanks' }),
      episode('x'),
    ]);
    expect(samples.spoken).toEqual({
      ...{ episodes: 3, withText: 2, endedByText: 1 },
      texts: ['It is done.', 'It is done.'],
    });
  });

  test('hold the vocabulary: values that come again, and examples of those that do not', () => {
    const note = 'long '.repeat(20);
    const { vocabulary } = sampleTarget(
      Array.from({ length: 20 }, (_, i) =>
        episode(`{"room":"${i % 3 ? 'Aurora' : 'Birch'}"}`, `{"guests":[{"name":"G${i}"}],"note":"${note}"}`),
      ),
    );
    expect(vocabulary).toEqual([
      { name: 'name', values: ['G0', 'G1', 'G10', 'G11'], isOpen: true },
      { name: 'room', values: ['Aurora', 'Birch'], isOpen: false },
    ]);
  });
});
