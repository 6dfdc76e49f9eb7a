// Tier: integration (real processes, fake trainer).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTrainActivities } from '../../../../activities/train';
import type { TrainInput } from '../../../../contracts/messages/sharpen-stage';
import { layout } from '../../../../store';
import { RunFixture } from '../../run-fixture';
import { fakeBackend, stampsTraining } from '../fake-backend';

describe('trainAdapter with probes', () => {
  let fixture: RunFixture;
  let input: TrainInput;

  beforeEach(async () => {
    fixture = new RunFixture();
    input = await stampsTraining(fixture);
  });
  afterEach(async () => {
    delete process.env['FAKE_WATCH'];
    await fixture.dispose();
  });

  const train = (given = input) => {
    const { trainAdapter } = createTrainActivities({ store: fixture.store, backends: { local: fakeBackend() } });
    return fixture.run(trainAdapter, given, fixture.activity());
  };
  const starts = (): number => {
    const jobs = fixture.store.localPath('runs/run-1/training');
    return readFileSync(join(jobs, readdirSync(jobs)[0]!, 'starts.txt'), 'utf8')
      .trim()
      .split('\n').length;
  };

  const watchOf = (kept: number) => {
    const pairs = (basePassed: number, passed: number) => ({ ...{ rollouts: 12, passed, basePassed }, lost: 6 });
    const probe = (iteration: number) => ({ ...{ iteration, reward: 0.5 }, calledFor: pairs(2, 8) });
    return JSON.stringify({
      ...{ margin: 0.05, tasks: { calledFor: 40, others: 60 }, rollouts: 48, completionTokens: 90, seconds: 1 },
      probes: [
        { ...probe(4), others: pairs(9, 9) },
        { ...probe(8), others: pairs(10, 4) },
      ],
      ended: { iteration: 8, why: 'loss' },
      kept,
    });
  };
  const lost = 'tasks that do not need it lost 50 points (10 of 12 passed before, 4 now)';

  test('a training that its probes stopped keeps the checkpoint before, and says so', async () => {
    process.env['FAKE_WATCH'] = watchOf(4);
    expect(await train()).toMatchObject({ watched: `ended at iteration 8: ${lost}; kept iteration 4` });
    // The next run takes it over.
    const next = { ...input, context: { ...input.context, runId: 'run-2' } };
    expect(await train(next)).toMatchObject({ reusedFrom: 'run-1', watched: expect.any(String) });
  });

  test('an adapter of which no checkpoint is kept ends with the figures, at every attempt', async () => {
    process.env['FAKE_WATCH'] = watchOf(0);
    const expected = {
      ...{ type: 'Trainer.Harmful', nonRetryable: true },
      message: expect.stringContaining(
        `The adapter of stamps is not kept: ended at iteration 8: ${lost}; no checkpoint is kept. Its environment`,
      ),
    };
    await expect(train()).rejects.toMatchObject(expected);
    await expect(train()).rejects.toMatchObject(expected);
    expect(starts()).toBe(1);
    expect(existsSync(fixture.store.localPath(layout.adapters(input.context.agent)))).toBe(false);
  });
});
