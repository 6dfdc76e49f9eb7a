// Tier: process (real runtime; no jail, no model).
import { readFileSync } from 'node:fs';
import { readTargetProfile, type TargetProfile } from '../../../activities/environment-checks/target-profile';
import { TargetProfileCache } from '../../../activities/target-profile/target-profile-cache';
import { openEnvironment } from '../../../sandbox';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const office = readFileSync(fixturePath('post_office.py'), 'utf8');

const readOffice = (): Promise<TargetProfile> =>
  readTargetProfile({
    openEnvironment,
    environment: { source: office, trust: 'owner', name: 'post office' },
    spec: { trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 60 } },
    signal: new AbortController().signal,
  });

describe('TargetProfileCache', () => {
  const fixture = new RunFixture();
  afterAll(() => fixture.dispose());
  const never = new AbortController().signal;

  test('reads a profile once, also when two ask at once, and gives it back as it was', async () => {
    let read = 0;
    const cache = new TargetProfileCache(fixture.store);
    const ask = (asked: TargetProfileCache) =>
      asked.load('target.json', never, () => {
        read++;
        return readOffice();
      });
    const [one, other] = await Promise.all([ask(cache), ask(cache)]);
    const later = await ask(new TargetProfileCache(fixture.store));
    expect(read).toBe(1);
    expect(other).toEqual(one);
    expect(later).toEqual(one);
  });

  test('reads the profile itself when the one that it waited for fails', async () => {
    const cache = new TargetProfileCache(fixture.store);
    const first = cache.load('other.json', never, () => Promise.reject(new Error('cancelled')));
    const second = cache.load('other.json', never, readOffice);
    await expect(first).rejects.toThrow('cancelled');
    await expect(second).resolves.toMatchObject({ heldOut: { length: 60 } });
  });
});
