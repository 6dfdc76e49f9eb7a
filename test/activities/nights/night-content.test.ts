// tier: integration (real store)
import { isEqualContent, nightContent } from '../../../activities/nights/night-content';
import { readPreparedSpec } from '../../../activities/prepared-spec';
import { NightFixture } from './night-fixture';

test('an option that earlier versions did not have changes the content where it is set, and not by its default', async () => {
  const fixture = new NightFixture();
  try {
    const { spec } = await fixture.prepareNight('run-1');
    const today = await readPreparedSpec(fixture.store, spec);
    expect(today.spec.training.warmStart).toBe(true);
    const trainedWith = (training: object) => nightContent({ ...today, spec: { ...today.spec, training } } as never);
    const { warmStart: _, ...earlier } = today.spec.training;
    expect(isEqualContent(trainedWith(earlier), nightContent(today))).toBe(true);
    expect(isEqualContent(trainedWith({ ...earlier, warmStart: false }), nightContent(today))).toBe(false);
  } finally {
    await fixture.dispose();
  }
});
