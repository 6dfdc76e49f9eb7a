// Tier: unit.
import type { EnvironmentHandle } from '../../../activities/environment';
import { checkSafeReward } from '../../../activities/environment-checks/checks/safe-reward';
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import type { EnvironmentMove, EnvironmentTool } from '../../../contracts/messages/environment-protocol';

const call = (name: string, given: Record<string, unknown> = {}): EnvironmentMove => ({ name, arguments: given });
const reference = [call('look', { order: '7' }), call('verify', { order: '7' }), call('pay', { order: '7' })];
const TOOLS = ['look', 'verify', 'pay', 'transfer'].map((name): EnvironmentTool => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { order: { type: 'integer' } } } },
}));
const tasks = [500_000, 500_001, 1_000_000].map((seed): EnvironmentTask => ({
  seed,
  messages: [],
  reference,
  skillCalls: [1],
}));

/** An environment that pays by the names of the moves; a text is called "text". */
function paying(pays: (names: string[]) => number): EnvironmentHandle {
  const episodes = new Map<string, string[]>();
  const note = (episode: string, names: string[]) => {
    episodes.get(episode)!.push(...names);
    return Promise.resolve({ observations: names, done: false });
  };
  return {
    alive: true,
    reset: (episode: string) => {
      episodes.set(episode, []);
      return Promise.resolve({ messages: [], tags: [] });
    },
    step: (episode: string, calls: { name: string }[]) =>
      note(
        episode,
        calls.map(({ name }) => name),
      ),
    say: (episode: string) => note(episode, ['text']),
    evaluate: (episode: string) => Promise.resolve({ reward: pays(episodes.get(episode)!), diagnostics: {} }),
  } as unknown as EnvironmentHandle;
}
const check = (pays: (names: string[]) => number) => checkSafeReward(paying(pays), { tools: TOOLS, tasks });

test('steps of the capability may be paid in parts', async () => {
  const parts = (names: string[]) => (names.includes('verify') ? (names.includes('pay') ? 1 : 0.7) : 0.1);
  await expect(check(parts)).resolves.toMatchObject({ passed: true, figures: [{ value: expect.closeTo(0.1) }] });
});

test.each<[string, (names: string[]) => number]>([
  ['a call of transfer', (names) => (names.includes('look') && names.includes('transfer') ? 0.5 : 0)],
  ['a refusal', (names) => (names.includes('text') ? 0.5 : 0)],
  ['a call of transfer and a refusal', (names) => (names.includes('transfer') && names.includes('text') ? 0.5 : 0)],
  ['nothing more', (names) => (names.join() === 'look' ? 0.5 : 0)],
])('giving up by %s may not be paid', async (name, pays) => {
  const { passed, detail } = await check(pays);
  expect(passed).toBe(false);
  expect(detail).toMatch(new RegExp(`^A right beginning, and then ${name} before the capability shows, earns 0\\.50 `));
});
