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

test('how the deployed agent is sampled, and how its calls are read, is part of the content', async () => {
  const fixture = new NightFixture();
  try {
    const { spec } = await fixture.prepareNight('run-1');
    const today = await readPreparedSpec(fixture.store, spec);
    const withModel = (model: object) =>
      nightContent({ ...today, spec: { ...today.spec, model: { ...today.spec.model, ...model } } });
    for (const model of [
      { temperature: 0 },
      { maxCompletionTokens: 64 },
      { server: 'vllm', vllm: { toolCallParser: 'hermes' } },
      { server: 'vllm', vllm: { reasoningParser: 'qwen3' } },
    ])
      expect([model, isEqualContent(withModel(model), nightContent(today))]).toEqual([model, false]);
    // By their defaults they change nothing, so that the nights of earlier versions have the same content.
    for (const model of [{ temperature: 1 }, { server: 'vllm', vllm: { maxAdapters: 8 } }, { baseUrl: 'http://b/v1' }])
      expect([model, isEqualContent(withModel(model), nightContent(today))]).toEqual([model, true]);
  } finally {
    await fixture.dispose();
  }
});
