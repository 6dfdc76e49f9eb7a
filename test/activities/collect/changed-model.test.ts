// Tier: integration (real environment runtime, fake model server).
import { collectTrajectories } from '../../../activities/collect';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { RunFixture } from '../run-fixture';

/** The hash that the fixture's run froze. */
const FIRST = '0'.repeat(64);

describe('a model server that changes during collect', () => {
  let fixture: RunFixture;
  let server: FakePolicyServer;
  /** Share of the episodes that the served model solves. */
  let skill: number;
  const spec = { collect: { trials: 2, concurrency: 8 }, identify: { minEachOutcome: 3 } };

  beforeEach(async () => {
    fixture = new RunFixture();
    skill = 0.5;
    server = await new FakePolicyServer(parcelPolicy(() => skill)).start();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  test('no episode of another model counts, and the first model goes on to the undisturbed result', async () => {
    const whole = await fixture.run(
      collectTrajectories.bind(null, fixture.deps),
      await fixture.prepare(server.baseUrl, spec, undefined, 'run-2'),
    );
    const context = await fixture.prepare(server.baseUrl, spec);
    server.weightsSha256 = FIRST;
    server.requests.length = 0;
    server.holdAfter = 30;
    const disturbed = fixture
      .run(collectTrajectories.bind(null, fixture.deps), context)
      .catch((error: unknown) => error);
    while (server.held === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.stop();
    server.release();
    [server.weightsSha256, skill] = ['2'.repeat(64), 0];
    await server.start();
    expect(await disturbed).toMatchObject({ type: 'Model.Changed', nonRetryable: true });
    await expect(fixture.run(collectTrajectories.bind(null, fixture.deps), context)).rejects.toMatchObject({
      type: 'Model.Changed',
    });
    [server.weightsSha256, skill] = [FIRST, 0.5];
    const summary = await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    expect(summary.trajectories.sha256).toBe(whole.trajectories.sha256);
  });

  test('its new address is found, when it is the one that the worker knows', async () => {
    const context = await fixture.prepare('http://127.0.0.1:1/v1', spec);
    const deps = { ...fixture.deps, endpoints: { modelUrl: `${server.baseUrl}/` } };
    const summary = await fixture.run(collectTrajectories.bind(null, deps), context);
    expect(summary.episodes).toBe(40);
  });

  test('an address in agent.yaml stays', async () => {
    const other = await new FakePolicyServer(() => ({})).start();
    const model = { name: 'base', baseUrl: server.baseUrl };
    const context = await fixture.prepare(server.baseUrl, { ...spec, model });
    const deps = { ...fixture.deps, endpoints: { modelUrl: other.baseUrl } };
    await fixture.run(collectTrajectories.bind(null, deps), context);
    expect(other.requests).toHaveLength(0);
    await other.stop();
  });
});
