// Tier: unit.
import { SlowEpisodes } from '../../../activities/rollout/slow-episodes';

/** Resolves with the text once that has changed. */
function watched(endsAfter?: number) {
  let changed!: () => void;
  let change = new Promise<void>((resolve) => (changed = resolve));
  const slow = new SlowEpisodes(endsAfter, () => changed(), 1);
  const next = async () => {
    await change;
    change = new Promise<void>((resolve) => (changed = resolve));
    return slow.text;
  };
  return { slow, next };
}

test('an episode is counted while it is slow', async () => {
  const { slow, next } = watched(120);
  let end!: () => void;
  const playing = slow.watch(() => new Promise<void>((resolve) => (end = resolve)));
  expect(slow.text).toBeUndefined();
  expect(await next()).toMatch(/^1 episode has taken more than .* so far, and one fails after 120 s /);
  end();
  await playing;
  expect(slow.text).toBeUndefined();
});

test('one that fails is no longer counted, and its error is passed on', async () => {
  const { slow, next } = watched();
  let fail!: (error: Error) => void;
  const playing = slow.watch(() => new Promise<void>((_, reject) => (fail = reject))).catch((error: Error) => error);
  expect(await next()).toMatch(/ so far$/);
  fail(new Error('gone'));
  expect(await playing).toMatchObject({ message: 'gone' });
  expect(slow.text).toBeUndefined();
});
