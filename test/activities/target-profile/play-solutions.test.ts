// tier: integration (a real process of the agent's own environment)
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { solutionPlayer } from '../../../activities/target-profile/play-solutions';
import { type PreparedSpec, preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { getJson } from '../../../store';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

let fixture: RunFixture;
beforeEach(() => void (fixture = new RunFixture()));
afterEach(() => fixture.dispose());

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed);
const { signal } = new AbortController();

/** A run whose parcel desk is changed. */
async function prepare(change: (source: string) => string): Promise<{ runId: string; prepared: PreparedSpec }> {
  const context = await fixture.prepare('http://127.0.0.1:9/v1');
  const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
  const source = change(readFileSync(fixturePath('parcel_desk.py'), 'utf8'));
  const environmentPath = join(fixture.folder, 'desk.py');
  writeFileSync(environmentPath, source);
  const environmentSha256 = createHash('sha256').update(source).digest('hex');
  return { runId: context.runId, prepared: { ...prepared, environmentPath, environmentSha256 } };
}
const same = (source: string) => source;
const player = () => solutionPlayer(fixture.deps);

test('a step that the environment asks for cannot be left out of its solutions', async () => {
  const run = await prepare(same);
  expect(await player().withoutTools(run, ['weigh'], SEEDS, signal)).toEqual({
    tried: 12,
    accepted: 0,
    informs: true,
  });
  expect(await player().withoutTools(run, ['stamp'], SEEDS, signal)).toMatchObject({ tried: 0, accepted: 0 });
});

test('a step that decides nothing can, and so can a look-up whose answers the solutions know', async () => {
  const free = (source: string) => source.replace('(1.0 if weighed else 0.3)', '1.0');
  const lookUp = await prepare(free);
  expect(await player().withoutTools(lookUp, ['weigh'], SEEDS, signal)).toEqual({
    tried: 12,
    accepted: 12,
    informs: true,
  });
  // The answer repeats what the agent knows.
  const silent = await prepare((source) =>
    free(source).replace(`f"{self.task['grams']} g"`, `f"{self.task['parcel']} is weighed"`),
  );
  expect(await player().withoutTools(silent, ['weigh'], SEEDS, signal)).toEqual({
    tried: 12,
    accepted: 12,
    informs: false,
  });
});

test('solutions that the environment itself refuses prove nothing', async () => {
  const run = await prepare((source) => source.replace('(1.0 if weighed else 0.3)', '0.9'));
  expect(await player().withoutTools(run, ['weigh'], SEEDS, signal)).toMatchObject({ tried: 0, accepted: 0 });
  expect(await player().messages(run, SEEDS, signal)).toEqual([]);
});

test('the messages of solutions are those that an agent sees', async () => {
  const [messages] = (await player().messages(await prepare(same), [0], signal))!;
  expect(messages!.map(({ role, content, tool_calls: calls }) => [role, calls?.[0]?.function.name ?? content])).toEqual(
    [
      ['system', 'You run the parcel desk.'],
      ['user', expect.stringMatching(/^please send parcel P\d+$/)],
      ['assistant', 'weigh'],
      ['tool', expect.stringMatching(/^\d+ g$/)],
      ['assistant', 'send'],
      ['tool', 'sent'],
    ],
  );
});

test('an environment that cannot be played proves nothing', async () => {
  const broken = await prepare(() => 'import no_such_module\nclass Environment:\n    pass\n');
  expect(await player().withoutTools(broken, ['weigh'], SEEDS, signal)).toBeNull();
  const { prepared, runId } = await prepare(same);
  const changed = { runId, prepared: { ...prepared, environmentSha256: '0'.repeat(64) } };
  expect(await player().withoutTools(changed, ['weigh'], SEEDS, signal)).toBeNull();
});
