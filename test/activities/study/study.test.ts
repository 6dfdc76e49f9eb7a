// tier: integration
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { recordIdentification, renderStudy } from '../../../activities/study';
import { prepareStudy } from '../../../activities/study/prepare-study';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { stabilityStudySchema } from '../../../contracts/artifacts/study';
import { getJson, layout } from '../../../store';
import { startFakeAnalyst, type FakeAnalyst } from '../../fakes/analyst-endpoint';
import { syntheticAnswer, syntheticEpisode } from '../../fakes/synthetic-episodes';
import { IdentifyWorld } from '../identify/identify-world';

let stub: FakeAnalyst;
let world: IdentifyWorld;

beforeEach(async () => {
  // A labeller that errs in every tenth answer, differently in each identification.
  stub = await startFakeAnalyst((request) => {
    if (request.body.response_format?.json_schema.name !== 'label') return syntheticAnswer(request);
    const byte = createHash('sha256').update(String(request.headers['idempotency-key'])).digest()[0] as number;
    return byte < 26 ? { content: '{"reason":"a slip","step":null,"label":"PRESENT"}' } : syntheticAnswer(request);
  });
  world = new IdentifyWorld(stub.url);
});

afterEach(async () => {
  await stub.close();
  await world.fixture.dispose();
});

const prepare = () => {
  const endpoints = {
    modelUrl: 'http://127.0.0.1:1/v1',
    modelPath: '/m',
    modelApiKey: null,
    keyEndpoints: [],
    analyst: { demoUrl: null, model: 'm-1', apiKey: null, baseUrl: stub.url },
  };
  return prepareStudy.bind(null, { store: world.fixture.store, endpoints });
};

test(
  'independent identifications of the same trajectories find the same capabilities, and the page shows how far ' +
    'they differ',
  async () => {
    const { store } = world.fixture;
    await world.inputOf(
      Array.from({ length: 160 }, (_, i) => syntheticEpisode(i)),
      'run-parcels-1',
      'm-1',
    );
    await rename('run-parcels-1');
    const plan = await world.fixture.run(prepare(), {
      studyId: 'study-1',
      agent: 'parcels',
      identifications: 4,
      sourceRun: null,
    });
    expect(plan).toMatchObject({ sourceRun: 'run-parcels-1', collected: { episodes: 160 } });
    expect((await getJson(store, plan.context.spec, preparedSpecSchema)).spec.identify).toMatchObject({
      runs: 1,
      arm: 'contrast',
    });

    let recorded: ArtifactRef | null = null;
    for (let i = 0; i < 4; i++) {
      const context = { ...plan.context, runId: `study-1.${i}`, seed: plan.context.seed + i };
      const { result, totals } = await world.identify({
        context,
        collected: plan.collected,
        independent: { firstRun: i },
      });
      expect(totals.reused).toBe(0);
      const previous: ArtifactRef | null = recorded;
      recorded = await world.fixture.run(recordIdentification.bind(null, store), {
        plan,
        seed: context.seed,
        identified: result,
        previous,
      });
    }
    const rendered = await world.fixture.run(renderStudy.bind(null, store), {
      plan,
      recorded: recorded as ArtifactRef,
    });
    const found = stabilityStudySchema.parse(JSON.parse(await readFile(`${rendered.directory}/study.json`, 'utf8')));
    expect(found.keptByAll.sort()).toEqual(['skill-one', 'skill-two']);
    expect(found.capabilities.find(({ id }) => id === 'skill-one')).toMatchObject({ named: 4, kept: 4 });
    expect(found.capabilities.find(({ id }) => id === 'skill-one')?.gap?.standardDeviation).toBeGreaterThan(0);
    expect(rendered.summary).toMatch(/^4 identifications: 2 capabilities kept by all of them/);
    const svg = await readFile(`${rendered.directory}/stability.svg`, 'utf8');
    expect(svg).toContain('xmlns="http://www.w3.org/2000/svg"');
    const page = await readFile(`${rendered.directory}/study.html`, 'utf8');
    expect(page).toContain('Skill one');
    expect(page).not.toContain('<script');
  },
);

test('without trajectories it says what to do', async () => {
  await expect(
    world.fixture.run(prepare(), { studyId: 's', agent: 'parcels', identifications: 2, sourceRun: null }),
  ).rejects.toMatchObject({
    type: 'Study.NoTrajectories',
  });
  await expect(
    world.fixture.run(prepare(), { studyId: 's', agent: 'parcels', identifications: 2, sourceRun: 'run-9' }),
  ).rejects.toThrow(/run-9/);
});

/** Collection names its artifact otherwise than the test world does. */
async function rename(runId: string): Promise<void> {
  const { store } = world.fixture;
  const directory = layout.trajectories(runId);
  const [name] = await store.list(directory);
  await writeFile(
    store.localPath(`${directory}/${String(name).replace('base-', 'collected-')}`),
    await readFile(store.localPath(`${directory}/${name}`)),
  );
}
