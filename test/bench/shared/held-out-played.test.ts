// tier: unit
import { heldOutPlayed } from '../../../bench/shared/held-out-played';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { getJson, layout, putJson } from '../../../store';
import { RunFixture } from '../../activities/run-fixture';

describe('what a finished run judged on', () => {
  let fixture: RunFixture;
  beforeEach(() => (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  const played = async (plan: object | null) => {
    const context = await fixture.prepare('http://127.0.0.1:1', { evaluation: { trials: 2, heldOutTasks: 4 } });
    const { spec } = await getJson(fixture.store, context.spec, preparedSpecSchema);
    if (plan) await putJson(fixture.store, layout.evaluation('run-1'), 'evaluation-plan.json', plan);
    return heldOutPlayed(fixture.store, 'run-1', spec);
  };
  const PLAN = {
    ...{ tasks: 4, trials: 3, basePassRate: 0.4, minimumDetectableGain: 0.1, power: 0.8, active: null },
    ...{ noIncumbent: null, canary: null, judging: { against: null, comparison: 1, confidence: 0.95 } },
  };

  it('is what its plan says, wherever the block begins', async () => {
    const seeds = [
      { start: 1008, count: 2 },
      { start: 1000, count: 2 },
    ];
    expect(await played({ ...PLAN, rotation: { block: 3, of: 10, seeds } })).toEqual({
      seeds: [1008, 1009, 1000, 1001],
      trials: 3,
    });
  });

  it('is every held-out task where none rotate', async () => {
    const all = Array.from({ length: 10 }, (_, i) => 1000 + i);
    expect(await played({ ...PLAN, tasks: 10 })).toEqual({ seeds: all, trials: 3 });
    expect(await heldOutPlayedWithoutPlan()).toEqual({ seeds: all, trials: 2 });
  });

  async function heldOutPlayedWithoutPlan() {
    const other = new RunFixture();
    try {
      const context = await other.prepare('http://127.0.0.1:1', { evaluation: { trials: 2 } });
      const { spec } = await getJson(other.store, context.spec, preparedSpecSchema);
      return heldOutPlayed(other.store, 'run-1', spec);
    } finally {
      await other.dispose();
    }
  }
});
