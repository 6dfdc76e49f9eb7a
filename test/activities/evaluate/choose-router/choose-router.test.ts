// tier: integration (real environment runtime, fake model server).
import { collectTrajectories } from '../../../../activities/collect';
import { chooseRouter } from '../../../../activities/evaluate/choose-router';
import { routeTasks } from '../../../../activities/evaluate/route-tasks';
import { type RouterChoice, routerChoiceSchema } from '../../../../contracts/artifacts/router-choice';
import { routingRecordSchema } from '../../../../contracts/artifacts/evaluation';
import type { TrainedAdapter } from '../../../../contracts/artifacts/training';
import { trajectorySchema } from '../../../../contracts/artifacts/trajectory';
import type { RunContext } from '../../../../contracts/messages/run-context';
import { getJson, getLines, putLines } from '../../../../store';
import { type FakeAnswer, FakePolicyServer, type WireRequest } from '../../../fakes/policy-server';
import { RunFixture } from '../../run-fixture';
import { storedAdapter } from '../stored-adapter';
import { neededAdapters, routerSchema } from '../../../../routing/kinds';

const TOGETHER = 'heavy and the light';
const STAMPS: Record<string, number> = { plain: 1, heavy: 2, light: 3, [TOGETHER]: 5 };
const kindOf = (text: string) => /the (heavy and the light|\w+) parcel/.exec(text)![1]!;

describe('the competition of routers', () => {
  let fixture: RunFixture;
  let server: FakePolicyServer;
  let adapters: TrainedAdapter[];
  /** What a model knows how to send. */
  let knows: (model: string) => string[];
  /** Label that the base model gives to every task, and its probability. */
  let label: { name: string; probability: number };
  const capabilities = ['heavy', 'light'].map((id) => ({ id, name: id, summary: `${id} parcels` }));

  beforeEach(async () => {
    fixture = new RunFixture();
    adapters = [await storedAdapter(fixture, 'heavy'), await storedAdapter(fixture, 'light')];
    knows = (model) => (model === 'base' ? ['plain'] : [model.split('@')[0]!]);
    label = { name: 'C', probability: 0.9 };
    server = await new FakePolicyServer(answer).start();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  function answer({ structured_outputs, model, messages }: WireRequest): FakeAnswer {
    if (structured_outputs) return { content: label.name, labels: { [label.name]: label.probability } };
    const kind = kindOf(messages.find(({ role }) => role === 'user')!.content!);
    return { calls: [{ name: 'send', arguments: { stamps: knows(model).includes(kind) ? STAMPS[kind]! : 9 } }] };
  }

  const spec = (evaluation: object = {}) => ({
    environment: {
      path: 'three_parcels.py',
      trainSeeds: { start: 0, count: 60 },
      heldOutSeeds: { start: 1000, count: 12 },
      maxTurns: 2,
    },
    collect: { trials: 1 },
    evaluation: { trials: 1, concurrency: 8, ...evaluation },
  });

  /** Tasks of which every fourth calls for both capabilities. */
  const parcelsTogether = () => {
    const [path, { environment, ...others }] = ['parcels_together.py', spec()];
    const tasks = { ...environment, path, trainSeeds: { start: 0, count: 120 } };
    return fixture.prepare(server.baseUrl, { environment: tasks, ...others }, path);
  };

  /** Collects, labels each trajectory by its kind, and lets the routers compete. */
  async function compete(context: RunContext, mislabelled = 0) {
    const { trajectories } = await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    const found = await getLines(fixture.store, trajectories, trajectorySchema);
    const labels = found.flatMap(({ id, messages }, place) =>
      capabilities.map((capability) => {
        const isNeeded = kindOf(messages[0]!.content!).includes(capability.id);
        const label = isNeeded !== place < mislabelled ? ('LACKING' as const) : ('NA' as const);
        return {
          trajectoryId: id,
          capabilityId: capability.id,
          label,
          step: null,
          reason: '',
          votes: { NA: 0, PRESENT: 0, LACKING: 1 },
        };
      }),
    );
    const mixed = adapters.find(({ capabilityId }) => capabilityId === 'mixed');
    const input = {
      context,
      adapters: adapters.filter((adapter) => adapter !== mixed),
      ...(mixed && { mixed }),
      capabilities,
      trajectories,
      labels: await putLines(fixture.store, 'runs/run-1/labels', 'labels.jsonl', labels),
    };
    return { input, result: await fixture.run(chooseRouter.bind(null, fixture.deps), input) };
  }
  const choiceOf = async ({ choice }: { choice: Parameters<typeof getJson>[1] }): Promise<RouterChoice> =>
    getJson(fixture.store, choice, routerChoiceSchema);

  it('learns from labels what the base model cannot say, and routes held-out tasks by it', async () => {
    const context = await fixture.prepare(server.baseUrl, spec(), 'three_parcels.py');
    const { result } = await compete(context, 3);
    const choice = await choiceOf(result);
    expect(choice).toMatchObject({ chosen: 'labels', pinned: false, trainTasks: 60, compared: 60 });
    expect(choice.competitors.map(({ kind }) => kind)).toEqual(['base', 'labels', 'logits']);
    expect(choice.competitors.find(({ kind }) => kind === 'logits')).toMatchObject({ left: true, routed: 0 });
    expect(choice.competitors.find(({ kind }) => kind === 'labels')!.gain).toBeGreaterThan(0.5);
    expect(choice.rollouts).toBeLessThanOrEqual(choice.budget);
    expect(result.summary).toMatch(/^router labels: \+\d\d\.\d points/);

    const before = server.requests.length;
    const { routing } = await fixture.run(routeTasks.bind(null, fixture.deps), {
      context,
      capabilities,
      router: result.router,
      name: 'routing',
    });
    // The chosen router asks nobody.
    expect(server.requests).toHaveLength(before);
    const records = await getLines(fixture.store, routing, routingRecordSchema);
    expect(records.map(({ seed, capabilityId }) => [seed, capabilityId])).toEqual(
      Array.from({ length: 12 }, (_, i) => [1000 + i, ['none', 'heavy', 'light'][(1000 + i) % 3]]),
    );
  });

  describe('with a mixed adapter', () => {
    beforeEach(async () => adapters.push(await storedAdapter(fixture, 'mixed')));

    it('takes it alone where it is as good as the best router', async () => {
      knows = (model) =>
        ({ base: ['plain'], mixed: ['plain', 'heavy', 'light'] })[model.split('@')[0]!] ?? [model.split('@')[0]!];
      const context = await fixture.prepare(server.baseUrl, spec(), 'three_parcels.py');
      const { result } = await compete(context);
      const choice = await choiceOf(result);
      expect(choice).toMatchObject({
        chosen: 'mixed',
        comparedMixed: 60,
        competitors: expect.arrayContaining([expect.objectContaining({ kind: 'mixed', routed: 1, behind: 0 })]),
      });
      expect(result.kind).toBe('mixed');
      expect(choice.rollouts).toBeLessThanOrEqual(choice.budget);
      expect(await getJson(fixture.store, result.router, routerSchema)).toEqual({ kind: 'mixed', leftOut: [] });
    });

    it('keeps the router where the mixed adapter is clearly worse, within the budget', async () => {
      knows = (model) => ({ base: ['plain'], mixed: ['heavy'] })[model.split('@')[0]!] ?? [model.split('@')[0]!];
      const context = await fixture.prepare(server.baseUrl, spec({ routingRollouts: 150 }), 'three_parcels.py');
      const choice = await choiceOf((await compete(context)).result);
      expect(choice.chosen).toBe('labels');
      expect(choice.competitors.find(({ kind }) => kind === 'mixed')!.behind).toBeGreaterThan(0.3);
      expect(choice.rollouts).toBeLessThanOrEqual(150);
    });

    it('makes it an arm where it learned what another adapter did not, and harms tasks that need none', async () => {
      const learned: Record<string, string[]> = { base: ['plain'], mixed: ['heavy', 'light'], light: [] };
      knows = (model) => learned[model.split('@')[0]!] ?? [model.split('@')[0]!];
      const context = await fixture.prepare(server.baseUrl, spec(), 'three_parcels.py');
      const { input, result } = await compete(context);
      const choice = await choiceOf(result);
      // Alone, the mixed adapter and the best router pass two kinds of three each.
      expect(choice.competitors.find(({ kind }) => kind === 'mixed')).toMatchObject({ behind: 0 });
      expect(choice).toMatchObject({ chosen: 'outcomes-mixed', mixedOnBaseTasks: { gain: -1, harms: true } });
      expect(choice.competitors.at(-1)).toMatchObject({ kind: 'outcomes-mixed', left: false });
      expect(choice.competitors.at(-1)!.gain).toBeGreaterThan(0.6);
      expect(choice.harm).toMatchObject({ above: false });
      expect(choice.harm!.bound).toBeLessThan(0);
      expect(choice.adapters.map(({ capabilityId }) => capabilityId)).toEqual(['heavy', 'light', 'mixed']);
      expect(choice).not.toHaveProperty('reliability');
      expect(choice.spending!.at(-1)).toMatchObject({ kind: 'outcomes-mixed', rollouts: choice.rollouts });
      expect(choice.rollouts).toBeLessThanOrEqual(choice.budget);

      const arms = async (...ids: string[]) => {
        const served = ids.map((id) => ({ id, name: id, summary: id }));
        const { routing } = await fixture.run(routeTasks.bind(null, fixture.deps), {
          context,
          capabilities: served,
          router: result.router,
          name: 'routing',
        });
        return (await getLines(fixture.store, routing, routingRecordSchema)).map(({ capabilityId }) => capabilityId);
      };
      const served = await arms('heavy', 'light', 'mixed');
      expect(served[2]).toBe('none');
      expect(served.slice(0, 3).filter((arm) => arm === 'mixed').length).toBeGreaterThan(0);
      // Without it, base gets its tasks.
      expect(await arms('heavy', 'light')).not.toContain('mixed');
      const asked = server.requests.length;
      expect(await fixture.run(chooseRouter.bind(null, fixture.deps), input)).toEqual(result);
      expect(server.requests).toHaveLength(asked);
    });

    it('keeps the simpler router where it gains as much, and the mixed adapter harms tasks that need none', async () => {
      const learned: Record<string, string[]> = { base: ['plain'], mixed: ['heavy', 'light'] };
      knows = (model) => learned[model.split('@')[0]!] ?? [model.split('@')[0]!];
      const context = await fixture.prepare(server.baseUrl, spec(), 'three_parcels.py');
      const choice = await choiceOf((await compete(context)).result);
      expect(choice).toMatchObject({ chosen: 'labels', mixedOnBaseTasks: { gain: -1, harms: true } });
    });

    it('is pinned as an arm where agent.yaml says so, and without it the labels route', async () => {
      const learned: Record<string, string[]> = { base: ['plain'], mixed: ['heavy', 'light'], light: [] };
      knows = (model) => learned[model.split('@')[0]!] ?? [model.split('@')[0]!];
      const pinned = spec({ router: 'outcomes-mixed', mixedAdapter: true });
      const context = await fixture.prepare(server.baseUrl, pinned, 'three_parcels.py');
      const { result } = await compete(context);
      expect(await choiceOf(result)).toMatchObject({ chosen: 'outcomes-mixed', pinned: true });
      expect(result.kind).toBe('outcomes-mixed');
      const router = await getJson(fixture.store, result.router, routerSchema);
      expect(neededAdapters(router)).toContain('mixed');
      // Nobody was asked for a label.
      expect(server.requests.some(({ structured_outputs }) => structured_outputs)).toBe(false);
      adapters.pop();
      const other = await fixture.prepare(server.baseUrl, pinned, 'three_parcels.py', 'run-2');
      expect(await choiceOf((await compete(other)).result)).toMatchObject({ chosen: 'labels', pinned: true });
    });

    it('gives it the openings that call for several capabilities, and the router the others', async () => {
      const learned: Record<string, string[]> = { base: ['plain'], mixed: ['heavy', TOGETHER] };
      knows = (model) => learned[model.split('@')[0]!] ?? [model.split('@')[0]!];
      const context = await parcelsTogether();
      const { result } = await compete(context);
      const choice = await choiceOf(result);
      expect(choice).toMatchObject({ chosen: 'labels', severalNeeds: { gain: 1, adopted: true } });
      expect(choice.rollouts).toBeLessThanOrEqual(choice.budget);
      const arms = async (...ids: string[]) => {
        const served = ids.map((id) => ({ id, name: id, summary: id }));
        const { routing } = await fixture.run(routeTasks.bind(null, fixture.deps), {
          context,
          capabilities: served,
          router: result.router,
          name: 'routing',
        });
        return (await getLines(fixture.store, routing, routingRecordSchema)).map(({ capabilityId }) => capabilityId);
      };
      expect((await arms('heavy', 'light', 'mixed')).slice(0, 4)).toEqual(['none', 'heavy', 'light', 'mixed']);
      // Without the mixed adapter the router's own choice stands.
      expect(['heavy', 'light']).toContain((await arms('heavy', 'light'))[3]);
    });

    it('does not give it openings with several needs where that gains nothing', async () => {
      const learned: Record<string, string[]> = { base: ['plain'], mixed: ['heavy'] };
      knows = (model) => learned[model.split('@')[0]!] ?? [model.split('@')[0]!];
      const { result } = await compete(await parcelsTogether());
      expect((await choiceOf(result)).severalNeeds).toMatchObject({ gain: 0, adopted: false });
      expect(await getJson(fixture.store, result.router, routerSchema)).not.toHaveProperty('severalNeeds');
    });

    it('takes it where agent.yaml says so, and base where it could not be trained', async () => {
      const pinned = spec({ router: 'mixed', mixedAdapter: true });
      const context = await fixture.prepare(server.baseUrl, pinned, 'three_parcels.py');
      expect(await choiceOf((await compete(context)).result)).toMatchObject({ chosen: 'mixed', pinned: true });
      adapters.pop();
      const other = await fixture.prepare(server.baseUrl, pinned, 'three_parcels.py', 'run-2');
      expect(await choiceOf((await compete(other)).result)).toMatchObject({ chosen: 'base' });
    });
  });

  it('buys nothing twice and makes the same router when it is repeated', async () => {
    const context = await fixture.prepare(server.baseUrl, spec(), 'three_parcels.py');
    const { input, result } = await compete(context);
    const asked = server.requests.length;
    expect(await fixture.run(chooseRouter.bind(null, fixture.deps), input)).toEqual(result);
    expect(server.requests).toHaveLength(asked);
  });

  it('stays within its budget', async () => {
    const context = await fixture.prepare(server.baseUrl, spec({ routingRollouts: 30 }), 'three_parcels.py');
    const choice = await choiceOf((await compete(context)).result);
    expect(choice.rollouts).toBeLessThanOrEqual(30);
    expect(choice.rollouts).toBeGreaterThan(0);
    const free = await fixture.prepare(server.baseUrl, spec({ routingRollouts: 0 }), 'three_parcels.py', 'run-2');
    const unpaid = await choiceOf((await compete(free)).result);
    expect(unpaid.rollouts).toBe(0);
    expect(unpaid.chosen).not.toBe('base');
  });

  it('leaves an adapter out through which tasks are lost', async () => {
    // Labels say that plain parcels want the adapter `light`, which cannot send them.
    knows = (model) => ({ base: ['plain', 'light'] })[model] ?? ['heavy'];
    const context = await fixture.prepare(server.baseUrl, spec(), 'three_parcels.py');
    const { result } = await compete(context);
    const choice = await choiceOf(result);
    expect(choice.adapters).toMatchObject([
      { capabilityId: 'heavy', leftOut: false },
      { capabilityId: 'light', leftOut: true, gain: -1 },
    ]);
    expect((await getJson(fixture.store, result.router, routerSchema)).leftOut).toEqual(['light']);
  });

  it('leaves an adapter out that only tasks of both rounds show to lose', async () => {
    knows = (model) => ({ base: ['plain', 'light'] })[model] ?? ['heavy'];
    const few = { router: 'labels', routingRollouts: 24 };
    const context = await fixture.prepare(server.baseUrl, spec(few), 'three_parcels.py');
    const choice = await choiceOf((await compete(context)).result);
    expect(choice.adapters[1]).toMatchObject({ capabilityId: 'light', leftOut: true, reason: 'routing', gain: -1 });
    expect(choice.rollouts).toBeLessThanOrEqual(24);
  });

  it('buys tasks for an adapter of which harm cannot be excluded, and says what the router may lose', async () => {
    // The adapter `light` gains nothing on its tasks, which base passes too.
    knows = (model) => ({ base: ['plain', 'light'] })[model] ?? [model.split('@')[0]!];
    const pinned = { router: 'labels', routingRollouts: 40 };
    const context = await fixture.prepare(server.baseUrl, spec(pinned), 'three_parcels.py');
    const { harm, adapters, rollouts, spending } = await choiceOf((await compete(context)).result);
    expect(rollouts).toBe(40);
    expect(harm).toMatchObject({ margin: 0.1, above: false });
    expect(harm!.bought).toBeGreaterThan(0);
    expect(harm!.bound).toBeLessThan(0);
    const [heavy, light] = adapters;
    expect(heavy!.lossBound).toBeLessThan(0);
    expect(light).toMatchObject({ gain: 0, leftOut: false });
    expect(light!.tasks).toBeGreaterThan(heavy!.tasks);
    expect(spending!.map(({ step }) => step)).toEqual(['first-round', 'harm']);
    expect(spending!.map((step) => step.rollouts)).toEqual([20, 40]);
    for (const { gain, oracleGain } of spending!) expect(oracleGain).toBeGreaterThanOrEqual(gain - 1e-9);
  });

  it('takes the kind that agent.yaml names', async () => {
    const context = await fixture.prepare(server.baseUrl, spec({ router: 'logits' }), 'three_parcels.py');
    const { result } = await compete(context);
    expect(await choiceOf(result)).toMatchObject({ chosen: 'logits', pinned: true });
    expect((await getJson(fixture.store, result.router, routerSchema)).kind).toBe('logits');
  });
});
