import { resolve } from 'node:path';
import { LocalBackend } from '../../../activities/train/local-backend';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import type { RunFixture } from '../run-fixture';

/** A backend of this machine that starts the fake trainer (test/fakes/trainer.py). */
export const fakeBackend = (more: Partial<ConstructorParameters<typeof LocalBackend>[0]> = {}): LocalBackend =>
  new LocalBackend({
    trainer: {
      python: 'python3',
      pythonPath: resolve('trainer-image'),
      arguments: [resolve('test/fakes/trainer.py')],
    },
    jailProfile: resolve('sandbox/profile.json'),
    ...more,
  });

/** A training of eight iterations on one environment, `stamps`, as a run asks for it. */
export async function stampsTraining(fixture: RunFixture): Promise<TrainInput> {
  const context = await fixture.prepare('http://127.0.0.1:9/v1', { training: { iterations: 8 } });
  const folder = 'runs/run-1/environments/stamps';
  const source = await fixture.store.put(folder, 'environment.py', 'class Environment: ...\n');
  return { context, job: 'stamps', environments: [{ id: 'stamps', source }], budgetFactor: 1 };
}
