// tier: unit
import { fitOutcomes } from '../../../routing/fit/fit-outcomes';
import { KnownOutcomes } from '../../../activities/evaluate/choose-router/known-outcomes';
import type { RoutingTask } from '../../../routing/labelled-tasks';
import { openRouter } from '../../../routing/open-router';
import { routerSchema } from '../../../routing/kinds';

const KINDS = ['where is the parcel', 'refund the order', 'cancel the booking'];
const NEEDS = [[], ['refunds'], ['cancellations']];

/** Tasks of three kinds; base passes those that ask for nothing. */
const tasks = Array.from({ length: 90 }, (_, seed): RoutingTask => {
  const kind = seed % 3;
  return {
    seed,
    opening: `${KINDS[kind]!} please`,
    later: [],
    needs: NEEDS[kind]!,
    basePasses: [kind === 0 ? 1 : 0, kind === 0 ? 1 : 0],
    answer: null,
  };
});

/** Outcomes of arms on the first tasks of each kind, two trials each. */
function played(passes: (arm: string, kind: number) => boolean | null, upTo = 45): KnownOutcomes {
  const known = new KnownOutcomes(tasks);
  for (const { seed } of tasks.slice(0, upTo))
    for (const arm of ['refunds', 'cancellations']) {
      const passed = passes(arm, seed % 3);
      if (passed !== null) for (let trial = 0; trial < 2; trial++) known.add(seed, arm, passed);
    }
  return known;
}

const arms = ['refunds', 'cancellations'];
const routerOf = async (...given: Parameters<typeof fitOutcomes>) =>
  routerSchema.parse({
    ...{ kind: 'outcomes-mixed', leftOut: [], doubt: 0.3, margin: 0.05 },
    ...(await fitOutcomes(...given)),
  });
const choicesOf = async (outcomes: KnownOutcomes, priorTrials?: number) => {
  const router = await routerOf(
    { tasks, arms, outcomes },
    { ridge: 0.1, ...(priorTrials !== undefined && { priorTrials }) },
  );
  const chooser = openRouter(router);
  expect(chooser.menu).toBeNull();
  return KINDS.map((opening) => chooser.choose(opening, null).capabilityId);
};
/** Each adapter was played on its own tasks, as routers by labels would have it, and passes them. */
const ownTasks = (arm: string, kind: number) => (NEEDS[kind]!.includes(arm) ? true : null);

test('gives a task to the arm that passed such tasks, and to base what base passes', async () => {
  expect(await choicesOf(played(ownTasks))).toEqual(['none', 'refunds', 'cancellations']);
});

test('goes by outcomes where they contradict the labels', async () => {
  const swapped = played((arm, kind) => (kind === 0 ? null : !NEEDS[kind]!.includes(arm)));
  expect(await choicesOf(swapped)).toEqual(['none', 'cancellations', 'refunds']);
});

test('leaves the tasks of an adapter that does not pass them to base', async () => {
  const failing = played((arm, kind) => (NEEDS[kind]!.includes(arm) ? arm === 'refunds' : null));
  expect(await choicesOf(failing)).toEqual(['none', 'refunds', 'none']);
});

test('needs the labels: without them an arm is taken to pass what it was never played on', async () => {
  const [, ...wrong] = await choicesOf(
    played((arm, kind) => (arm === 'refunds' && kind === 1 ? true : null)),
    0,
  );
  expect(wrong).toEqual(['refunds', 'refunds']);
  const [, ...right] = await choicesOf(played((arm, kind) => (arm === 'refunds' && kind === 1 ? true : null)));
  expect(right).toEqual(['refunds', 'none']);
});

test('takes the mixed adapter to pass what it passed of the same need, and not what it failed of another', async () => {
  const mixed = new KnownOutcomes(tasks);
  for (const { seed } of tasks.slice(0, 12))
    for (let trial = 0; trial < 2; trial++) mixed.add(seed, 'mixed', seed % 3 === 1);
  const router = await routerOf({ tasks, arms: [...arms, 'mixed'], outcomes: mixed }, { ridge: 0.1 });
  const { choose } = openRouter(router);
  expect(KINDS.map((opening) => choose(opening, null).capabilityId)).toEqual(['none', 'mixed', 'none']);
  // Openings that share no word with those that were played.
  const apart = tasks.map((task) => (task.seed < 12 ? { ...task, opening: `before ${task.seed}` } : task));
  const byNeeds = openRouter(await routerOf({ tasks: apart, arms: ['mixed'], outcomes: mixed }, { ridge: 0.1 }));
  expect(KINDS.map((opening) => byNeeds.choose(`${opening} please`, null).capabilityId)).toEqual([
    'none',
    'mixed',
    'none',
  ]);
});

test('of nothing played nothing is expected: base gets everything', async () => {
  expect(await choicesOf(new KnownOutcomes(tasks))).toEqual(['none', 'none', 'none']);
});

test('the same outcomes give the same router', async () => {
  const known = played(ownTasks);
  const fit = () => fitOutcomes({ tasks, arms, outcomes: known }, { ridge: 0.1 });
  expect(await fit()).toEqual(await fit());
});
