// Tier: integration (real programs, fake model server).
import { paidBy } from '../../../../activities/environment';
import type { Trajectory } from '../../../../contracts/artifacts/trajectory';
import {
  doNothingModel,
  loadRollouts,
  NEUTRAL_SENTENCE,
  runRollouts,
  storeRollouts,
} from '../../../../activities/rollout';
import { memoryRoom } from '../../../../activities/rollout/program/memory-room';
import type { RolloutDeps } from '../../../../activities/rollout/rollout-deps';
import { RunFixture } from '../../run-fixture';
import { modelAt, planOf, PlayerFixture, SETTINGS } from './player-fixture';

const PROGRAM = `
import json, os, sys, urllib.request
task = json.load(sys.stdin)
body = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": f"task {task['seed']}"}]}
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
answer = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
print(json.dumps({"reward": task["seed"] % 2}))`;

const PLANS = Array.from({ length: 24 }, (_, seed) => planOf(seed));

let programs: PlayerFixture;
let run: RunFixture;
beforeEach(async () => {
  programs = await new PlayerFixture().start(({ messages }) => ({ content: `answer to ${messages[0]!.content}` }));
  run = new RunFixture();
});
afterEach(async () => {
  await programs.stop();
  await run.dispose();
});

const rolled = async (
  workKey: string,
  activity = run.activity(),
  deps: Partial<RolloutDeps> = {},
): Promise<Trajectory[]> => {
  const options = {
    plans: PLANS,
    environment: paidBy(programs.sourceOf(PROGRAM), null),
    settings: SETTINGS,
    model: modelAt(programs.server.baseUrl),
    adapters: [],
    concurrency: 4,
    workKey,
    stage: 'collect' as const,
  };
  const loaded = await run.run(
    async () => loadRollouts(await runRollouts({ ...run.deps, ...deps }, options)),
    null,
    activity,
  );
  return loaded.trajectories;
};

test('a set of programs is played, and an attempt that was cut off goes on where it ended', async () => {
  const whole = await rolled('whole.jsonl');
  expect(whole).toHaveLength(PLANS.length);
  expect(whole.map(({ success }) => success)).toEqual(PLANS.map(({ seed }) => seed % 2 === 1));
  expect(run.heartbeats.some(({ note }) => note?.includes('programs at a time'))).toBe(true);

  const asked = programs.server.requests;
  asked.length = 0;
  programs.server.holdAfter = 10;
  const activity = run.activity();
  const cut = rolled('cut.jsonl', activity).catch((error: unknown) => error);
  while (programs.server.held === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  activity.cancel('WORKER_SHUTDOWN');
  await cut;
  programs.server.release();
  const first = asked.length;
  const again = await rolled('cut.jsonl');
  expect(again).toEqual(whole);
  // What was finished is not paid for twice; only what was open is asked again.
  expect(asked.length - first).toBeLessThanOrEqual(PLANS.length - 10 + 4);
});

test('programs that hang are counted where a person looks, with what ends them', async () => {
  programs.server.holdAfter = 21;
  const rolling = rolled('slow.jsonl', run.activity(), { slowEpisodeMs: 1 });
  const says = () => run.heartbeats.some(({ note }) => /3 episodes have taken .* fails after 600 s/.test(note ?? ''));
  while (!says()) await new Promise((resolve) => setTimeout(resolve, 5));
  programs.server.release();
  expect(await rolling).toHaveLength(PLANS.length);
});

test('who waits for memory does not play yet, and so is not slow', async () => {
  const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
  const taking = memoryRoom.run(Number.MAX_SAFE_INTEGER, new AbortController().signal, () => isFree);
  const rolling = rolled('waiting.jsonl', run.activity(), { slowEpisodeMs: 1 });
  const notes = () => run.heartbeats.flatMap(({ note }) => (note?.includes('programs at a time') ? [note] : []));
  while (notes().length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(notes().filter((note) => note.includes('taken more than'))).toEqual([]);
  free();
  await taking;
  expect(await rolling).toHaveLength(PLANS.length);
});

test('a program is answered by the agent that does nothing, and no model is asked', async () => {
  const { client, model } = doNothingModel();
  const rollouts = await run.run(
    async () =>
      loadRollouts(
        await runRollouts(
          { ...run.deps, model: client },
          {
            plans: PLANS.slice(0, 4).map((plan) => ({ ...plan, model: model.name })),
            ...{ environment: paidBy(programs.sourceOf(PROGRAM), null), settings: SETTINGS, model, adapters: [] },
            ...{ concurrency: 4, workKey: 'nothing.jsonl', stage: 'evaluate' as const },
          },
        ),
      ),
    null,
  );
  const answers = rollouts.trajectories.map(({ messages }) => messages[1]);
  expect(answers).toEqual(Array(4).fill({ role: 'assistant', content: NEUTRAL_SENTENCE }));
  expect(programs.server.requests).toEqual([]);
});

test('successes without a call of a tool, and conversations that are not whole, are counted', async () => {
  const finished = await run.run(
    () =>
      runRollouts(run.deps, {
        ...{
          plans: PLANS.slice(0, 4),
          environment: paidBy(programs.sourceOf(PROGRAM), null),
          settings: SETTINGS,
          adapters: [],
        },
        ...{ model: modelAt(programs.server.baseUrl), concurrency: 4, workKey: 'counts.jsonl', stage: 'collect' },
      }),
    null,
  );
  const stored = (change: (trajectory: Trajectory) => Trajectory) =>
    run.run(
      () =>
        storeRollouts(
          run.store,
          {
            ...finished,
            trajectories: async function* () {
              for await (const trajectory of finished.trajectories()) yield change(trajectory);
            },
          },
          { directory: 'counts', name: 'all.jsonl', stage: 'collect' },
        ),
      null,
    );
  // A program without tools has no other way to pass.
  expect(await stored((one) => one)).toMatchObject({ successes: 2 });
  expect(await stored((one) => one)).not.toHaveProperty('withoutCalls');
  const changed = await stored((one) => ({
    ...one,
    ...(one.task.seed === 0 && { steps: 1 }),
    ...(one.task.seed === 1 && { leftOut: ['image' as const] }),
  }));
  expect(changed).toMatchObject({ successes: 2, withoutCalls: 2, notWhole: 1 });
});
