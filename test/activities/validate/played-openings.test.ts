// Tier: jail (real jail and runtime; no model).
import { readFileSync } from 'node:fs';
import { createValidationActivities } from '../../../activities/validate';
import { validationSchema } from '../../../contracts/artifacts/environment-check';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { MODULE_FACTS } from '../../../contracts/config/environment-kinds/facts';
import { getJson, layout, putJson, putLines } from '../../../store';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const FACTS = { ...MODULE_FACTS, costsTokens: true };

let fixture: RunFixture;
beforeEach(() => (fixture = new RunFixture()));
afterEach(() => fixture.dispose());

/** Validates an environment whose tasks the agent's own ones, as far as they are opened, do not resemble. */
async function validate(facts: typeof MODULE_FACTS, played: readonly Trajectory[] | null): Promise<string[]> {
  const { store } = fixture;
  const context = await fixture.prepare('http://127.0.0.1:9/v1');
  const prepared = await getJson(store, context.spec, preparedSpecSchema);
  const spec = await putJson(store, layout.run('run-1'), 'spec.json', { ...prepared, facts });
  const openEnvironment: typeof fixture.deps.openEnvironment = async (environment) => {
    const handle = await fixture.deps.openEnvironment(environment);
    if (environment.trust !== 'owner') return handle;
    const reset = handle.reset.bind(handle);
    const changed: Pick<typeof handle, 'reset' | 'facts'> = {
      facts,
      reset: async (...task) => ({ ...(await reset(...task)), messages: [{ role: 'user', content: 'hello' }] }),
    };
    return Object.assign(handle, changed);
  };
  const source = await store.put('runs/run-1/environments/stamps', 'a.py', readFileSync(fixturePath('parcel_desk.py')));
  const trajectories = played && (await putLines(store, layout.run('run-1'), 'played.jsonl', played));
  const { validateEnvironment } = createValidationActivities({ ...fixture.deps, openEnvironment });
  const { detail } = await fixture.run(validateEnvironment, {
    context: { ...context, spec },
    capability: { id: 'stamps', name: 'Stamps', summary: 'count the stamps' },
    source,
    ...(trajectories && { trajectories }),
  });
  const { checks } = await getJson(store, detail, validationSchema);
  return checks.filter(({ passed }) => !passed).map(({ name }) => name);
}

/** An episode that begins with a request, after words of the agent's own where it says so. */
const episode = (text: string, isGreeted: boolean): Trajectory => {
  const { messages, ...rest } = syntheticEpisode(1);
  const [system, user, ...later] = messages;
  const greeting = isGreeted ? [{ role: 'assistant' as const, content: 'Hello.' }] : [];
  return {
    ...rest,
    ...(isGreeted && { openingAnswers: 1 }),
    messages: [system!, ...greeting, { ...user!, content: text }, ...later],
  };
};

const REQUEST = 'please send parcel P1';

test.each([false, true])('words of requests that a run has met are known; greeted first: %s', async (isGreeted) => {
  expect(await validate(FACTS, [episode(REQUEST, isGreeted)])).not.toContain('wording');
});

test('other words stay strange', async () => {
  expect(await validate(FACTS, [episode('good morning', false)])).toContain('wording');
  expect(await validate(FACTS, null)).toContain('wording');
});

test('an environment that opens its tasks for nothing says all of them itself', async () => {
  expect(await validate(MODULE_FACTS, [episode(REQUEST, false)])).toContain('wording');
});

test('what is said after the first answer is no request, nor what a held-out task says', async () => {
  const late = episode('good morning', false);
  const heldOut: Trajectory = { ...episode(REQUEST, false), task: { seed: 2, split: 'held-out' } };
  const played = [{ ...late, messages: [...late.messages, { role: 'user' as const, content: REQUEST }] }, heldOut];
  expect(await validate(FACTS, played)).toContain('wording');
});
