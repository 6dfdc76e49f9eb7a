import { mapAloneIfLost } from '../../../activities/rollout/restarting-environment';
import { SandboxError } from '../../../sandbox';

const { signal } = new AbortController();
const died = () => new SandboxError('Sandbox.EnvironmentDied', 'It ended.');

test('items that were lost with their process run again one by one, and the results keep their order', async () => {
  const begun: number[] = [];
  let running = 0;
  const mostAgain: number[] = [];
  const results = await mapAloneIfLost([0, 1, 2, 3], 4, signal, async (item) => {
    const isAgain = begun.includes(item);
    begun.push(item);
    running++;
    if (isAgain) mostAgain.push(running);
    await new Promise(setImmediate);
    running--;
    if (!isAgain && item !== 2) throw died();
    return item * 10;
  });
  expect(results).toEqual([0, 10, 20, 30]);
  expect(begun).toEqual([0, 1, 2, 3, 0, 1, 3]);
  expect(mostAgain).toEqual([1, 1, 1]);
});

test('an item that ends a process again, and every other error, reject', async () => {
  await expect(mapAloneIfLost([0], 1, signal, () => Promise.reject(died()))).rejects.toThrow('It ended.');
  const calls: number[] = [];
  const work = (item: number) => {
    calls.push(item);
    return Promise.reject(new Error('no network'));
  };
  await expect(mapAloneIfLost([0, 1], 1, signal, work)).rejects.toThrow('no network');
  expect(calls).toEqual([0]);
});
