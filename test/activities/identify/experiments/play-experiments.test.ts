// tier: integration (the orders desk in its process, a scripted model server)
import { z } from 'zod';
import { collectTrajectories } from '../../../../activities/collect';
import { createIdentifyActivities, playExperiments } from '../../../../activities/identify';
import { type TalliedRun, tallySchema } from '../../../../activities/identify/labelling/tally';
import { LABEL_CODES } from '../../../../activities/identify/verdicts/label-codes';
import { solutionPlayer } from '../../../../activities/target-profile/play-solutions';
import type { Dictionary } from '../../../../contracts/artifacts/dictionary';
import {
  type ExperimentQuestion,
  experimentQuestionsSchema,
  experimentsSchema,
} from '../../../../contracts/artifacts/experiment';
import { type Identification, identificationSchema } from '../../../../contracts/artifacts/identification';
import { type Trajectory, trajectorySchema } from '../../../../contracts/artifacts/trajectory';
import type { ContrastInput } from '../../../../contracts/messages/identify-stage';
import { getJson, getLines, layout, putJson, putLines, readSegment } from '../../../../store';
import { failingEnvironment } from '../../../fakes/failing-environment';
import { FakePolicyServer } from '../../../fakes/policy-server';
import { RunFixture } from '../../run-fixture';
import { NOTHING } from '../identify-world';
import { carelessAgent, courteousDesk, isCareless } from './courteous-desk';

let fixture: RunFixture;
let server: FakePolicyServer;
beforeEach(() => void (fixture = new RunFixture()));
afterEach(async () => {
  await server.stop();
  await fixture.dispose();
});

async function open(experimentRollouts = 200) {
  let answer: ReturnType<typeof carelessAgent> | null = null;
  server = await new FakePolicyServer((request) => answer!(request)).start();
  const desk = await courteousDesk(fixture, server.baseUrl, {
    collect: { trials: 1, concurrency: 16 },
    identify: { minEachOutcome: 3, runs: 1, experimentRollouts },
  });
  answer = carelessAgent(desk);
  return desk;
}

const called = ({ messages }: Trajectory): Set<string> =>
  new Set(messages.flatMap(({ tool_calls: calls }) => (calls ?? []).map((call) => call.function.name)));

/** Labels of the two steps, by the calls of each episode of a task that needs them. */
function labelled(trajectories: Trajectory[], { solutions }: Awaited<ReturnType<typeof open>>) {
  return ['verify_user', 'find_user'].map((tool) =>
    Uint8Array.from(trajectories, (one) => {
      if (!solutions.get(one.task.seed)!.some(({ name }) => name === 'verify_user')) return LABEL_CODES.NA;
      return called(one).has(tool) ? LABEL_CODES.PRESENT : LABEL_CODES.LACKING;
    }),
  );
}

const CANDIDATES = [
  { id: 'verify', name: 'Verify user', summary: 'v', description: 'Calls verify_user before a refund.' },
  { id: 'look-up', name: 'Look the customer up', summary: 'l', description: 'Calls find_user before it verifies.' },
];

/** What labelling leaves in the store for the contrast. */
async function labelledRun(desk: Awaited<ReturnType<typeof open>>): Promise<ContrastInput> {
  const { store } = fixture;
  const { context } = desk;
  const folder = layout.labels(context.runId);
  const collected = await fixture.run(collectTrajectories.bind(null, fixture.deps), context);
  const trajectories = await getLines(store, collected.trajectories, trajectorySchema);
  const codes = labelled(trajectories, desk);
  const records = trajectories.flatMap(({ id }) =>
    CANDIDATES.map(({ id: capabilityId }) => ({
      ...{ trajectoryId: id, capabilityId, label: null, step: null, reason: 'r', key: `${id}-${capabilityId}` },
    })),
  );
  const labels = await putLines(store, folder, 'labels-run-0.jsonl', records);
  const tally: TalliedRun = {
    ...{ run: 0, labels, capabilities: CANDIDATES.map(({ id }) => id), trajectories: trajectories.length },
    ...{ previous: null, codes: Uint8Array.from(trajectories.flatMap((_, t) => codes.map((own) => own[t]!))) },
  };
  return {
    context,
    trajectories: collected.trajectories,
    discovery: {
      candidates: await putJson(store, folder, 'candidates.json', CANDIDATES),
      detail: await putJson(store, folder, 'detail.json', {
        merges: [],
        dictionary: { agent: context.agent, entries: [] },
      }),
      ...{ count: CANDIDATES.length, calls: 1 },
    },
    tally: await putJson(store, folder, 'tally-0.json', tallySchema.encode(tally)),
    totals: NOTHING,
  };
}

test('tells a cause from a decoy that is always lacking together with it', async () => {
  const desk = await open();
  const { context } = desk;
  const { store } = fixture;
  const { contrastCapabilities } = createIdentifyActivities({
    store,
    analyst: () => Promise.reject(new Error('nothing to ask')) as never,
    player: solutionPlayer(fixture.deps),
  });
  const input = await labelledRun(desk);
  const contrast = async (more: Partial<ContrastInput> = {}) => {
    const result = await fixture.run(contrastCapabilities, { ...input, ...more });
    return { ...result, found: await getJson(store, result.identification, identificationSchema) };
  };
  const verdicts = ({ contrasts }: Identification) =>
    contrasts.map(({ verdict, missed, partial }) => [verdict, missed, partial.experiment?.finding]);

  // The labels are the same, so the first one stands for both.
  const first = await contrast();
  expect(verdicts(first.found)).toEqual([
    ['kept', [], undefined],
    ['not-enough-data', ['separation'], undefined],
  ]);
  // Verdicts that are not final are not remembered.
  expect(await store.readDocument(layout.dictionary(context.agent))).toBeNull();
  const questions = await getJson(store, first.questions!, experimentQuestionsSchema);
  expect(questions).toMatchObject([
    { capabilityId: 'verify', tools: ['verify_user'], held: ['find_user'] },
    { capabilityId: 'look-up', tools: ['find_user'], held: ['verify_user'] },
  ]);

  const played = await fixture.run(playExperiments.bind(null, fixture.deps), { context, questions: first.questions! });
  const experiments = await getJson(store, played, experimentsSchema);
  const last = await contrast({ experiments: played });
  expect(last).toMatchObject({ experiments: played, kept: [{ id: 'verify' }] });
  expect(last).not.toHaveProperty('questions');
  expect(last.tokens[1]).toMatchObject({ stage: 'identify', model: 'base', promptTokens: experiments.promptTokens });
  expect(verdicts(last.found)).toEqual([
    ['kept', [], 'effect'],
    ['rejected', ['effect'], 'no-effect'],
  ]);
  expect(last.found.experiments).toMatchObject({ rollouts: experiments.rollouts, budget: 200 });
  expect(last.found.contrasts[0]!.reason).toMatch(
    /^Kept: decided by an experiment\. With verify_user put in where the solution calls it, beside find_user on both sides, \d+ of \d+ rollouts succeed, and 0 of \d+ without\.$/,
  );
  const dictionary = (await store.readDocument(layout.dictionary(context.agent)))!.value as Dictionary;
  expect(dictionary.entries.map(({ id, state }) => [id, state])).toEqual([
    ['verify', 'lacking'],
    ['look-up', 'never'],
  ]);
  expect(experiments.rollouts).toBeLessThanOrEqual(200);
  expect(experiments.rollouts).toBe(experiments.trajectories!.records);

  // Neither studies, nor nights that examine the active version, nor runs without a budget try anything.
  expect(await contrast({ independent: { firstRun: 0 } })).not.toHaveProperty('questions');
  expect(await contrast({ measures: true })).not.toHaveProperty('questions');
  const without = { ...desk.prepared, spec: structuredClone(desk.prepared.spec) };
  without.spec.identify.experimentRollouts = 0;
  const spec = await putJson(store, layout.run(context.runId), 'spec.json', without);
  expect(await contrast({ context: { ...context, spec } })).not.toHaveProperty('questions');

  const collected = await getLines(store, input.trajectories, trajectorySchema);
  const rollouts = await getLines(fixture.store, experiments.trajectories!, trajectorySchema);
  const collectedSeeds = new Set(collected.map(({ samplingSeed }) => samplingSeed));
  for (const one of rollouts) {
    // Only careless tasks that need the steps, played anew.
    expect(isCareless(one.task.seed)).toBe(true);
    expect(collectedSeeds).not.toContain(one.samplingSeed);
    const calls = one.messages.flatMap(({ tool_calls: made }) => (made ?? []).map((call) => call.function.name));
    const both = one.intervened!.length === 2;
    const solution = desk.solutions.get(one.task.seed)!.map(({ name }) => name);
    // Where both steps are put in, the calls are those of the solution, each in its place.
    expect(calls).toEqual(both ? solution : solution.filter((name) => one.intervened!.includes(name) || !isStep(name)));
  }
  // Both questions share the rollouts with both steps.
  expect(new Set(rollouts.map(({ intervened }) => intervened!.join())).size).toBe(3);
});
const isStep = (name: string): boolean => name === 'verify_user' || name === 'find_user';

/** A question whose step the agent makes; no task is offered to force it. */
const shownIn = ({ solutions }: Awaited<ReturnType<typeof open>>, tool: string): ExperimentQuestion => ({
  ...{ capabilityId: tool, tools: [tool], held: [], lacking: [] },
  shown: [...solutions].flatMap(([task, calls]) =>
    !isCareless(task) && calls.some(({ name }) => name === 'verify_user') ? [task] : [],
  ),
});

test('forbids a step that the agent makes, and samples again at most three times', async () => {
  const desk = await open();
  const questions = [shownIn(desk, 'verify_user'), shownIn(desk, 'find_user')];
  const ref = await putJson(fixture.store, 'runs/run-1/capabilities', 'questions.json', questions);
  const played = await fixture.run(playExperiments.bind(null, fixture.deps), { context: desk.context, questions: ref });
  const { experiments, trajectories } = await getJson(fixture.store, played, experimentsSchema);
  expect(experiments.map(({ result }) => result)).toMatchObject([
    { step: 'forbidden', tools: ['verify_user'], finding: 'effect', passedWithout: 0 },
    // The agent insists on the call, so its turn ends without one, and the episode too.
    { step: 'forbidden', tools: ['find_user'], finding: 'effect', passedWithout: 0 },
  ]);
  const rollouts = await getLines(fixture.store, trajectories!, trajectorySchema);
  for (const one of rollouts.filter(({ intervened }) => intervened !== undefined)) {
    expect(called(one)).not.toContain(one.intervened![0]);
    expect(one.finish).toBe('no-tool-call');
  }
  const seeds = new Set(server.requests.map(({ seed }) => seed));
  for (const { samplingSeed, messages } of rollouts.filter(({ intervened }) => intervened !== undefined)) {
    const lastTurn = samplingSeed + messages.filter(({ role }) => role === 'assistant').length - 1;
    const samples = [1, 2, 3, 4].map((sample) => seeds.has((lastTurn + sample * 1_000_003) % 2 ** 31));
    expect(samples).toEqual([true, true, true, false]);
  }
});

test('a pair with a rollout that failed says nothing, and the failed ones are counted', async () => {
  const desk = await open();
  const questions = [shownIn(desk, 'verify_user')];
  const ref = await putJson(fixture.store, 'runs/run-1/capabilities', 'questions.json', questions);
  const failing = failingEnvironment(fixture.deps.openEnvironment, ({ seed, trial }) =>
    trial !== null && trial >= 100_000 && questions[0]!.shown.indexOf(seed) % 5 === 0
      ? { at: 'evaluate', cause: 'judge' }
      : null,
  );
  const deps = { ...fixture.deps, openEnvironment: failing.open };
  const played = await fixture.run(playExperiments.bind(null, deps), { context: desk.context, questions: ref });
  const { experiments, rollouts, failed, trajectories } = await getJson(fixture.store, played, experimentsSchema);
  expect(failed!['judge']).toBeGreaterThan(0);
  const results = await getLines(fixture.store, trajectories!, trajectorySchema);
  expect(results).toHaveLength(rollouts - failed!['judge']!);
  const pairs = [...Map.groupBy(results, ({ samplingSeed }) => samplingSeed).values()];
  expect(experiments[0]!.result).toMatchObject({ pairs: pairs.filter(({ length }) => length === 2).length });
});

test('says why there is no experiment', async () => {
  const desk = await open();
  const questions = [{ ...shownIn(desk, 'verify_user'), shown: [1, 2, 3] }];
  const ref = await putJson(fixture.store, 'runs/run-1/capabilities', 'questions.json', questions);
  const played = await fixture.run(playExperiments.bind(null, fixture.deps), { context: desk.context, questions: ref });
  expect(await getJson(fixture.store, played, experimentsSchema)).toMatchObject({
    experiments: [
      {
        result: {
          none: '0 of the tasks that lack it have an accepted solution that calls verify_user, and 3 tasks show it; an experiment needs 10',
        },
      },
    ],
    ...{ rollouts: 0, trajectories: null },
  });
});

test('goes on after a kill without playing anything twice, and never spends more than its budget', async () => {
  const desk = await open(27);
  const questions = [shownIn(desk, 'get_order')];
  const ref = await putJson(fixture.store, 'runs/run-1/capabilities', 'questions.json', questions);
  const input = { context: desk.context, questions: ref };
  server.holdAfter = 100;
  const activity = fixture.activity();
  const running = fixture.run(playExperiments.bind(null, fixture.deps), input, activity);
  while (server.held < 4) await new Promise((resolve) => setTimeout(resolve, 5));
  activity.cancel('CANCELLED');
  await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
  server.release();
  const [work] = (await fixture.store.list('runs/run-1/work')).filter((name) => name.startsWith('experiments-'));
  const finished = await readSegment(
    fixture.store.segment(`runs/run-1/work/${work}`),
    z.object({ trajectory: trajectorySchema }),
  );
  expect(finished.values.length).toBeGreaterThan(0);
  const play = async () =>
    getJson(fixture.store, await fixture.run(playExperiments.bind(null, fixture.deps), input), experimentsSchema);
  server.requests.length = 0;
  const resumed = await play();
  const begun = server.requests.filter(({ messages }) => messages.length === 2);
  const seeds = (await getLines(fixture.store, resumed.trajectories!, trajectorySchema)).map((one) => one.samplingSeed);
  // Each episode asks once with its own sampling seed.
  expect(begun.filter(({ seed }) => seeds.includes(seed))).toHaveLength(resumed.rollouts - finished.values.length);
  expect(resumed.rollouts).toBe(26);
  server.requests.length = 0;
  expect(await play()).toMatchObject({ experiments: resumed.experiments, trajectories: resumed.trajectories });
  expect(server.requests).toHaveLength(0);
});
