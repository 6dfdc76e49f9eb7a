// tier: integration
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { trajectoryId } from '../../contracts/artifacts/trajectory-id';
import { collectedTraces, layout, putLines, readTraces } from '../../store';
import { temporaryStore } from './temporary-store';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const day = (ago: number) => new Date(NOW - ago * 86_400_000).toISOString().slice(0, 10);

/** A conversation of so many messages, which lacks an image where its name ends with a question mark. */
function version(name: string, messages: number): Trajectory {
  const task = { seed: name.charCodeAt(0), split: 'live' as const };
  const said: Trajectory['messages'] = Array(messages).fill({ role: 'user', content: 'hi' });
  return {
    ...{ id: trajectoryId({ task, trial: 0, model: 'base', messages: said }), task, trial: 0, model: 'base' },
    ...{ samplingSeed: 0, messages: said, reward: 0, success: false, finish: 'done' as const, steps: 0 },
    ...{ usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 }, tags: [], diagnostics: {} },
    ...(name.endsWith('?') && { leftOut: ['image' as const] }),
  };
}

describe('readTraces passes over what lacks something', () => {
  const { store } = temporaryStore();
  let agents = 0;
  /** What is read of the days, today first; each version is its name and its number of messages, as `a2` or `a?2`. */
  const read = async (days: string[][], most = 100) => {
    const agent = `agent-${++agents}`;
    for (const [ago, versions] of days.entries())
      for (const written of versions)
        await putLines(store, layout.traces(agent, day(ago)), 'live.jsonl', [
          version(written.replace(/\d/, ''), Number(/\d/.exec(written)?.[0])),
        ]);
    const query = collectedTraces({ days: 7, most, models: 'base' }, 'base');
    const { trajectories, unreadable } = await readTraces(store, agent, { ...query, now: NOW });
    expect(unreadable).toEqual([]);
    return trajectories.map(({ task, messages }) => `${String.fromCharCode(task.seed)}${messages.length}`).sort();
  };

  it.each<[string, string[][], string[]]>([
    ['and keeps the others', [['a2', 'b?2', 'c2']], ['a2', 'c2']],
    ['also when it was whole before', [['a2', 'a?4']], []],
    ['also when it was whole on a day before', [['a?4'], ['a2']], []],
    ['but not when it is whole since', [['a?2', 'a4']], ['a4']],
    ['but not when it is whole on a later day', [['a4'], ['a?2']], ['a4']],
    ['also when it was written twice with as many messages', [['a2', 'a?2']], []],
  ])('%s', async (_name, days, found) => expect(await read(days)).toEqual(found));

  it('does not count it among the most that are wanted', async () => {
    expect(
      await read(
        [
          ['a?2', 'b?2'],
          ['c2', 'd?2'],
          ['e2', 'f2'],
        ],
        3,
      ),
    ).toEqual(['c2', 'e2', 'f2']);
    expect(await read([['a2'], ['b2']], 1)).toEqual(['a2']);
  });
});
