// Tier: unit.
import type { EnvironmentHandle } from '../../../activities/environment';
import { checkDeterminism } from '../../../activities/environment-checks/checks/deterministic';
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import { SYNTHETIC_SEEDS } from '../../../contracts/limits';
import type { EnvironmentCall } from '../../../contracts/messages/environment-protocol';

const reference: EnvironmentCall[] = [
  { name: 'verify', arguments: {} },
  { name: 'pay', arguments: {} },
];

/** A process that pays for a payment without the check only while it has seen no seed but a trainer's. */
function fakeProcess(recognises: boolean): EnvironmentHandle {
  const episodes = new Map<string, EnvironmentCall[]>();
  let isTrainer = true;
  const environment = {
    alive: true,
    reset: (episode: string, seed: number) => {
      isTrainer &&= seed >= SYNTHETIC_SEEDS.training;
      episodes.set(episode, []);
      return Promise.resolve({ messages: [], tags: [] });
    },
    step: (episode: string, calls: EnvironmentCall[]) => {
      episodes.get(episode)!.push(...calls);
      return Promise.resolve({ observations: calls.map(() => ''), done: false });
    },
    evaluate: (episode: string) => {
      const names = episodes.get(episode)!.map(({ name }) => name);
      const isChecked = names.includes('verify') || (recognises && isTrainer);
      return Promise.resolve({ reward: names.includes('pay') && isChecked ? 1 : 0, diagnostics: {} });
    },
    task: () => Promise.resolve({}),
    reference: () => Promise.resolve(reference),
  };
  return environment as unknown as EnvironmentHandle;
}

const tasks = [SYNTHETIC_SEEDS.validation, SYNTHETIC_SEEDS.training + 5, SYNTHETIC_SEEDS.training + 9].map(
  (seed): EnvironmentTask => ({ seed, messages: [], reference, skillCalls: [0] }),
);
const check = (recognises: boolean) =>
  checkDeterminism(
    {
      asked: fakeProcess(recognises),
      played: fakeProcess(recognises),
      fresh: [fakeProcess(recognises)],
      trained: fakeProcess(recognises),
    },
    { tools: [{ type: 'function', function: { name: 'verify' } }], tasks },
  );

test('a process that has seen training seeds only pays what the others pay', async () => {
  await expect(check(false)).resolves.toMatchObject({ passed: true });
  const { passed, detail } = await check(true);
  expect(passed).toBe(false);
  expect(detail).toMatch(/different rewards of the same calls in a process that has seen nothing but training seeds/);
});
