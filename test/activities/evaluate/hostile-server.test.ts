// Tier: integration (real environment runtime, fake model server).
import { rollOutArm } from '../../../activities/evaluate/roll-out-arm';
import { type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { getLines } from '../../../store';
import type { Chosen } from '../../fakes/hostile-model-server';
import { expectedCounts, expectTruth, oddAnswers, ROLLOUT_FORMS } from '../../fakes/hostile-rollouts';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { RunFixture } from '../run-fixture';
import { storedAdapter } from './stored-adapter';

const policy = parcelPolicy(() => 0.5);

test('an arm whose server answers in odd but legal forms: each rollout tells what happened, and is counted', async () => {
  const fixture = new RunFixture();
  const server = await new FakePolicyServer(policy).start();
  try {
    const adapter = await storedAdapter(fixture, 'heavy');
    const environment = {
      path: 'parcel_desk.py',
      trainSeeds: { start: 0, count: 20 },
      heldOutSeeds: { start: 10_000, count: ROLLOUT_FORMS.length },
      maxTurns: 4,
    };
    const play = async (run: string) => {
      const context = await fixture.prepare(
        server.baseUrl,
        { environment, evaluation: { trials: 1, concurrency: 8 } },
        undefined,
        run,
      );
      const arm = { context, arm: adapter.name, kind: 'adapter' as const, adapters: [adapter], routing: null };
      const { rollouts } = await fixture.run(rollOutArm.bind(null, fixture.deps), arm);
      return { rollouts, trajectories: await getLines(fixture.store, rollouts.trajectories, trajectorySchema) };
    };
    const { trajectories: usual } = await play('run-1');
    const chosen = new Map<number, Chosen>(
      usual.map(({ samplingSeed }, index) => [samplingSeed, { form: ROLLOUT_FORMS[index]!, turn: 0 }]),
    );
    const choose = (samplingSeed: number) => chosen.get(samplingSeed) ?? null;
    server.behaviour = oddAnswers(policy, choose);
    const { rollouts, trajectories: odd } = await play('run-2');
    odd.forEach((one: Trajectory, index) => expectTruth(one, usual[index]!, choose(one.samplingSeed)));
    const { episodes, refused, tooLong, cut } = rollouts;
    expect({ episodes, refused, tooLong, cut }).toEqual({
      episodes: ROLLOUT_FORMS.length,
      ...expectedCounts(usual, choose),
    });
  } finally {
    await server.stop();
    await fixture.dispose();
  }
});
