// tier: integration (real environment runtime, fake model server).
import { collectTrajectories } from '../../../../activities/collect';
import { chooseRouter } from '../../../../activities/evaluate/choose-router';
import { rollOutArm } from '../../../../activities/evaluate/roll-out-arm';
import { routeTasks } from '../../../../activities/evaluate/route-tasks';
import { judgeFollowing, judgeSwitches } from '../../../../activities/evaluate/choose-router/rounds/later-messages';
import { differingTasks } from '../../../../activities/evaluate/differing-tasks';
import { routingRecordSchema } from '../../../../contracts/artifacts/evaluation';
import { routerChoiceSchema } from '../../../../contracts/artifacts/router-choice';
import type { TrainedAdapter } from '../../../../contracts/artifacts/training';
import { trajectorySchema } from '../../../../contracts/artifacts/trajectory';
import type { RunContext } from '../../../../contracts/messages/run-context';
import { openingText } from '../../../../routing/opening-text';
import { laterTexts } from '../../../../routing/later-turns';
import { getJson, getLines, putJson, putLines } from '../../../../store';
import { type FakeAnswer, FakePolicyServer, type WireRequest } from '../../../fakes/policy-server';
import { RunFixture } from '../../run-fixture';
import { storedAdapter } from '../stored-adapter';
import { routerSchema } from '../../../../routing/kinds';

const STAMPS: Record<string, number> = { plain: 1, heavy: 2, light: 3 };
const kindsOf = (text: string) => [...text.matchAll(/the (\w+) parcel/g)].map(([, kind]) => kind!);
const kindOf = (text: string) => kindsOf(text)[0]!;
const TELL = { name: 'tell', arguments: {} };
const capabilities = ['heavy', 'light'].map((id) => ({ id, name: id, summary: `${id} parcels` }));

describe('a later turn that calls for another adapter', () => {
  let fixture: RunFixture;
  let server: FakePolicyServer;
  let adapters: TrainedAdapter[];
  /** Whether the customer is heard through the tool `tell`. */
  let heardByTool: boolean;

  beforeEach(async () => {
    fixture = new RunFixture();
    adapters = [await storedAdapter(fixture, 'heavy'), await storedAdapter(fixture, 'light')];
    heardByTool = false;
    server = await new FakePolicyServer(answer).start();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  /** Sends the parcel that the user named last, and tells the user. */
  function answer({ structured_outputs, model, messages }: WireRequest): FakeAnswer {
    if (structured_outputs) return { content: 'C', labels: { C: 0.9 } };
    if (messages.at(-1)!.content === 'sent') return heardByTool ? { calls: [TELL] } : { content: 'It is sent.' };
    const kind = kindOf(messages.findLast(({ content }) => content?.includes('parcel'))!.content!);
    const own = model.split('@')[0]!;
    const knows = kind === 'plain' || own === kind;
    return { calls: [{ name: 'send', arguments: { stamps: knows ? STAMPS[kind]! : 9 } }] };
  }

  const prepare = (path = 'parcels_in_turns.py') =>
    fixture.prepare(
      server.baseUrl,
      {
        environment: {
          path,
          trainSeeds: { start: 0, count: 198 },
          heldOutSeeds: { start: 900, count: 18 },
          maxTurns: 6,
        },
        collect: { trials: 1 },
        evaluation: { trials: 1, concurrency: 8 },
      },
      path,
    );

  /** Collects, labels each conversation with the kinds that its user names, and chooses the router. */
  async function choose(context: RunContext) {
    const { trajectories } = await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
    const found = await getLines(fixture.store, trajectories, trajectorySchema);
    const labels = found.flatMap(({ id, messages }) => {
      const kinds = [openingText(messages), ...laterTexts(messages, 'user-and-tools')]
        .filter((text) => text.includes('parcel'))
        .flatMap(kindsOf);
      return capabilities.map((capability) => ({
        trajectoryId: id,
        capabilityId: capability.id,
        label: kinds.includes(capability.id) ? ('LACKING' as const) : ('NA' as const),
        step: null,
        reason: '',
        votes: { NA: 0, PRESENT: 0, LACKING: 1 },
      }));
    });
    return fixture.run(chooseRouter.bind(null, fixture.deps), {
      context,
      adapters,
      capabilities,
      trajectories,
      labels: await putLines(fixture.store, 'runs/run-1/labels', 'labels.jsonl', labels),
    });
  }

  it('switches where that gains on train tasks, and held-out tasks are played so', async () => {
    const context = await prepare();
    const chosenRouter = await choose(context);
    const asked = server.requests.length;
    // A repeated activity buys nothing twice.
    expect(await choose(context)).toEqual(chosenRouter);
    expect(server.requests).toHaveLength(asked);
    const { router, choice } = chosenRouter;
    const { laterTurns, rollouts, budget } = await getJson(fixture.store, choice, routerChoiceSchema);
    expect(laterTurns).toMatchObject({ adopted: true, leftOut: [], reads: 'user' });
    expect(laterTurns!.gain).toBeGreaterThan(0.5);
    expect(rollouts).toBeLessThanOrEqual(budget);
    expect(budget + laterTurns!.rollouts).toBeLessThanOrEqual(500);
    const chosen = await getJson(fixture.store, router, routerSchema);
    expect('laterTurns' in chosen && chosen.laterTurns?.needs.map(({ capabilityId }) => capabilityId)).toEqual([
      'heavy',
      'light',
    ]);

    const { routing } = await fixture.run(routeTasks.bind(null, fixture.deps), {
      context,
      capabilities,
      router,
      name: 'routing',
    });
    const passes = async (switches: boolean) => {
      const arm = await fixture.run(rollOutArm.bind(null, fixture.deps), {
        context,
        arm: 'routed',
        kind: 'routed' as const,
        adapters,
        routing,
        ...(switches && { router }),
      });
      const found = await getLines(fixture.store, arm.rollouts.trajectories, trajectorySchema);
      return { arm, passed: found.filter(({ success }) => success).length };
    };
    const [staying, switching] = [await passes(false), await passes(true)];
    expect(staying.passed).toBeLessThan(13);
    expect(switching.passed).toBe(18);

    // A version that differs in nothing but its switches is another version.
    const still = { ...chosen, laterTurns: undefined };
    const incumbent = {
      version: 1,
      runId: 'run-0',
      adapters,
      capabilities,
      router: await putJson(fixture.store, 'runs/run-0/evaluation', 'router.json', JSON.parse(JSON.stringify(still))),
      routing,
    };
    const records = await getLines(fixture.store, routing, routingRecordSchema);
    const input = { ...(await compareInput(context)), arms: [switching.arm], router };
    expect(await differingTasks(fixture.store, input, incumbent, records)).toBeGreaterThan(5);
    expect(await differingTasks(fixture.store, input, { ...incumbent, router }, records)).toBe(0);
  });

  it('hears a user who speaks through a tool', async () => {
    heardByTool = true;
    const context = await prepare('parcels_by_tool.py');
    const { choice } = await choose(context);
    const { laterTurns } = await getJson(fixture.store, choice, routerChoiceSchema);
    expect(laterTurns).toMatchObject({ adopted: true, leftOut: [], reads: 'user-and-tools' });
    expect(laterTurns!.gain).toBeGreaterThan(0.2);
  });

  it('begins with what is asked for first where the opening names two kinds at once', async () => {
    const context = await prepare('parcels_at_once.py');
    const { router, choice } = await choose(context);
    const { laterTurns } = await getJson(fixture.store, choice, routerChoiceSchema);
    expect(laterTurns).toMatchObject({ adopted: true, twoNeeds: { adopted: true, gain: 1 } });
    expect(laterTurns!.twoNeeds!.tasks).toBeLessThanOrEqual(laterTurns!.tasks);
    const chosen = await getJson(fixture.store, router, routerSchema);
    expect('laterTurns' in chosen && chosen.laterTurns?.twoNeeds).toEqual({ threshold: 0.5 });

    // Held-out tasks are played as the gateway would: by the function that reads the router.
    const { routing } = await fixture.run(routeTasks.bind(null, fixture.deps), {
      context,
      capabilities,
      router,
      name: 'routing',
    });
    const first = (seed: number) => ['none', 'heavy', 'light'][seed % 3]!;
    const second = (seed: number) => ['none', 'heavy', 'light'][Math.floor(seed / 3) % 3]!;
    for (const { seed, capabilityId } of await getLines(fixture.store, routing, routingRecordSchema))
      expect(capabilityId).toBe(first(seed) === 'none' ? second(seed) : first(seed));
    const arm = await fixture.run(rollOutArm.bind(null, fixture.deps), {
      context,
      arm: 'routed',
      kind: 'routed' as const,
      adapters,
      routing,
      router,
    });
    const played = await getLines(fixture.store, arm.rollouts.trajectories, trajectorySchema);
    expect(played.filter(({ success }) => success)).toHaveLength(18);
  });

  const compareInput = async (context: RunContext) => {
    const nothing = await putJson(fixture.store, 'runs/run-1/evaluation', 'nothing.json', {});
    return { context, capabilities, adapters, routing: nothing, routerChoice: nothing, plan: nothing };
  };

  it('says nothing where the user says nothing later', async () => {
    const spec = {
      environment: {
        path: 'three_parcels.py',
        trainSeeds: { start: 0, count: 60 },
        heldOutSeeds: { start: 900, count: 9 },
        maxTurns: 2,
      },
    };
    const context = await fixture.prepare(server.baseUrl, { ...spec, collect: { trials: 1 } }, 'three_parcels.py');
    const { choice } = await choose(context);
    expect((await getJson(fixture.store, choice, routerChoiceSchema)).laterTurns).toBeUndefined();
  });
});

describe('whether switching gains', () => {
  const gains = (to: string, ...values: number[]) => values.map((gain) => ({ to, gain }));

  it('needs a gain above one standard error, on five tasks or more', () => {
    expect(judgeSwitches(gains('a', 1, 1, 0, 0, 1, 1))).toMatchObject({ adopted: true, tasks: 6 });
    expect(judgeSwitches(gains('a', 1, -1, 0, 0, 1, -1, 0.5))).toMatchObject({ adopted: false });
    expect(judgeSwitches(gains('a', 1, 1, 1, 1))).toMatchObject({ adopted: false });
    expect(judgeSwitches([])).toMatchObject({ adopted: false, gain: 0, standardError: 0 });
  });

  it('leaves out a capability that loses by it, and judges the others without it', () => {
    const found = judgeSwitches([...gains('a', 1, 1, 1, 0, 1), ...gains('b', -1, -1, 0, -1, -1)]);
    expect(found).toMatchObject({ adopted: true, leftOut: ['b'], tasks: 5, gain: 0.8 });
  });

  it('goes with the order of two needs, unless that loses tasks', () => {
    const task = (switched: number | null, first: number | null) => ({
      switched: switched === null ? null : { to: 'a', gain: switched },
      first: first === null ? null : { to: 'b', gain: first },
    });
    const switching = [task(1, null), task(1, null), task(0, null)];
    // Switching alone has three tasks, and with the order five.
    expect(judgeFollowing(switching)).toMatchObject({ adopted: false, tasks: 3 });
    expect(judgeFollowing([...switching, task(null, 1), task(null, 0)])).toMatchObject({
      adopted: true,
      tasks: 5,
      twoNeeds: { tasks: 2, gain: 0.5, adopted: true },
    });
    const enough = [...switching, ...switching];
    expect(judgeFollowing([...enough, task(null, -1), task(null, 0)])).toMatchObject({
      adopted: true,
      tasks: 6,
      twoNeeds: { tasks: 2, gain: -0.5, adopted: false },
    });
    // Where both ways were played, they are compared with each other.
    expect(judgeFollowing([...enough, task(1, 0.5)]).twoNeeds).toEqual({ tasks: 1, gain: -0.5, adopted: false });
    expect(judgeFollowing(enough)).not.toHaveProperty('twoNeeds');
  });
});
