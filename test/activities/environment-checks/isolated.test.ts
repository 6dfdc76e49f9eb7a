// tier: unit
import type { EnvironmentHandle } from '../../../activities/environment';
import { checkIsolation } from '../../../activities/environment-checks/checks/isolated';
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import { SYNTHETIC_SEEDS } from '../../../contracts/limits';
import type { EnvironmentCall } from '../../../contracts/messages/environment-protocol';

type Pays = (right: { weigh: boolean; send: boolean }) => number;

const solution = (seed: number): EnvironmentCall[] => [
  { name: 'weigh', arguments: { parcel: `P${seed}` } },
  { name: 'send', arguments: { stamps: seed % 7 } },
];

/** A fake environment that pays by which of the two moves were right. */
function environmentThatPays(pays: Pays): EnvironmentHandle {
  const played = new Map<string, { seed: number; calls: EnvironmentCall[] }>();
  const environment = {
    reset: (episode: string, seed: number) => {
      played.set(episode, { seed, calls: [] });
      return Promise.resolve({ messages: [], tags: [] });
    },
    step: (episode: string, calls: EnvironmentCall[]) => {
      played.get(episode)!.calls.push(...calls);
      return Promise.resolve({ observations: calls.map(() => ''), done: false });
    },
    evaluate: (episode: string) => {
      const { seed, calls } = played.get(episode)!;
      const made = calls.map((call) => JSON.stringify(call));
      const [weigh, send] = solution(seed).map((call) => made.includes(JSON.stringify(call)));
      return Promise.resolve({ reward: pays({ weigh: weigh!, send: send! }), diagnostics: {} });
    },
  };
  return environment as unknown as EnvironmentHandle;
}

const tasks = (skillCalls: number[] | null): EnvironmentTask[] =>
  Array.from({ length: 20 }, (_, index) => {
    const seed = SYNTHETIC_SEEDS.training + index;
    return { seed, messages: [], reference: solution(seed), skillCalls };
  });

const checkOf = (pays: Pays, skillCalls: number[] | null = [1]) =>
  checkIsolation(environmentThatPays(pays), { tools: [], tasks: tasks(skillCalls) });

test('an environment in which the capability decides passes', async () => {
  const { passed, detail } = await checkOf(({ weigh, send }) => (send ? (weigh ? 1 : 0.7) : 0.1));
  expect(detail).toMatch(
    /^Mean reward at training seeds is 0\.10 with the capability wrong .*0\.70 the other way round\.$/,
  );
  expect(passed).toBe(true);
});

test('a wrong move of the capability that is paid for is told, with what was expected and what to change', async () => {
  const { passed, detail } = await checkOf(({ weigh }) => (weigh ? 1 : 0.5));
  expect(passed).toBe(false);
  const { training } = SYNTHETIC_SEEDS;
  expect(detail).toMatch(
    new RegExp(
      `^At seed ${training} the reference solution, with send\\(\\{"stamps":\\d+\\}\\) in the place of move 1, ` +
        `send\\(\\{"stamps":${training % 7}\\}\\), earned 1\\.00, where less than 0\\.99 was expected; 40 of 40 such ` +
        'episodes succeed, and at most 10 % may\\. Let evaluate pay less without these moves, or take out of ' +
        '"skill_calls" what does not show the capability\\.',
    ),
  );
});

test('another move that decides although the capability is right is told, with what to change', async () => {
  const { passed, detail } = await checkOf(({ weigh, send }) => (weigh ? (send ? 1 : 0.3) : 0.2));
  expect(passed).toBe(false);
  const parcel = `P${SYNTHETIC_SEEDS.training}`;
  expect(detail).toContain(
    `in the place of move 0, weigh({"parcel":"${parcel}"}), earned 0.20, although every move of "skill_calls" was right;`,
  );
  expect(detail).toContain('must earn at least 0.1 more on average');
  expect(detail).toContain('and the difference is -0.10. Let evaluate pay for the capability');
});

test('a task without "skill_calls" is told with its solution, and who needs them', async () => {
  const { passed, detail } = await checkOf(() => 1, null);
  expect(passed).toBe(false);
  expect(detail).toMatch(
    /^The task of seed \d+ does not say in "skill_calls" .* An environment of agent\.yaml needs no/,
  );
  expect(detail).toMatch(/The solution: 0: weigh\(\{"parcel":"P\d+"\}\), 1: send\(\{"stamps":\d\}\)\.$/);
});
