// Tier: integration (real environment runtime, fake model server).
import { collectTrajectories } from '../../../activities/collect';
import { type RolloutSummary, type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { getLines } from '../../../store';
import { type Chosen, seededScript } from '../../fakes/hostile-model-server';
import { expectedCounts, expectTruth, oddAnswers, ROLLOUT_FORMS } from '../../fakes/hostile-rollouts';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { RunFixture } from '../run-fixture';

const policy = parcelPolicy(() => 0.5);
const countsOf = ({ episodes, refused, tooLong, cut }: RolloutSummary) => ({ episodes, refused, tooLong, cut });

describe('a server that answers in odd but legal forms', () => {
  const fixture = new RunFixture();
  let server: FakePolicyServer;
  let runs = 0;

  beforeAll(async () => void (server = await new FakePolicyServer(policy).start()));
  afterAll(async () => {
    await server.stop();
    await fixture.dispose();
  });

  const collect = async (tasks: number, trials: number) => {
    const environment = {
      path: 'parcel_desk.py',
      trainSeeds: { start: 0, count: tasks },
      heldOutSeeds: { start: 10_000, count: 10 },
      maxTurns: 4,
    };
    const spec = { environment, collect: { trials, concurrency: 8 }, identify: { minEachOutcome: 3 } };
    const context = await fixture.prepare(server.baseUrl, spec, undefined, `run-${runs++}`);
    const summary = await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    return { summary, trajectories: await getLines(fixture.store, summary.trajectories, trajectorySchema) };
  };

  describe('each form once, in the first turn', () => {
    let summary: RolloutSummary;
    let usual: Trajectory[];
    let odd: Trajectory[];

    beforeAll(async () => {
      server.behaviour = null;
      ({ trajectories: usual } = await collect(ROLLOUT_FORMS.length, 1));
      server.behaviour = oddAnswers(policy, chosenFor);
      ({ summary, trajectories: odd } = await collect(ROLLOUT_FORMS.length, 1));
    });
    const chosenFor = (samplingSeed: number): Chosen | null => {
      const index = usual.findIndex((one) => one.samplingSeed === samplingSeed);
      return { form: ROLLOUT_FORMS[index]!, turn: 0 };
    };

    test.each(ROLLOUT_FORMS.map((form, index) => ({ ...form, index })))('$name ($source)', ({ index }) => {
      expectTruth(odd[index]!, usual[index]!, { form: ROLLOUT_FORMS[index]!, turn: 0 });
    });

    test('every rollout that ended alone is counted', () => {
      expect(countsOf(summary)).toEqual({ episodes: ROLLOUT_FORMS.length, ...expectedCounts(usual, chosenFor) });
    });
  });

  describe('a seeded mix: 120 rollouts, three in ten with an odd answer', () => {
    let usual: Trajectory[];
    beforeAll(async () => {
      server.behaviour = null;
      ({ trajectories: usual } = await collect(60, 2));
    });

    test.each([1, 2])('seed %i: the stage ends, counts by cause, and no trajectory invents anything', async (seed) => {
      const script = seededScript(seed, 0.3, ROLLOUT_FORMS);
      const choose = (samplingSeed: number) => script(String(samplingSeed));
      server.behaviour = oddAnswers(policy, choose);
      const { summary, trajectories: odd } = await collect(60, 2);
      expect(countsOf(summary)).toEqual({ episodes: 120, ...expectedCounts(usual, choose) });
      odd.forEach((one, index) => expectTruth(one, usual[index]!, choose(one.samplingSeed)));
    });
  });
});
