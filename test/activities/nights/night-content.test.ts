// tier: integration (real store)
import { nightContent } from '../../../activities/nights/night-content';
import { isEqualContent } from '../../../activities/reuse/equal-content';
import { readPreparedSpec } from '../../../activities/prepared-spec';
import { NightFixture } from './night-fixture';

test('whether trainings begin from what is served is part of the content', async () => {
  const fixture = new NightFixture();
  try {
    const { spec } = await fixture.prepareNight('run-1');
    const today = await readPreparedSpec(fixture.store, spec);
    const training = { ...today.spec.training, warmStart: false };
    const fromZero = nightContent({ ...today, spec: { ...today.spec, training } });
    expect(isEqualContent(fromZero, nightContent(today))).toBe(false);
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
    for (const model of [{ server: 'vllm', vllm: { maxAdapters: 8 } }, { baseUrl: 'http://b/v1' }])
      expect([model, isEqualContent(withModel(model), nightContent(today))]).toEqual([model, true]);
  } finally {
    await fixture.dispose();
  }
});
