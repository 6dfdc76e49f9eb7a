/**
 * Compares what identification finds with the planted deficits of the orders desk. For each seed, the recipe trains a
 * base model, which is rolled out on the train tasks. The demo analyst (rule-based) then identifies capabilities, with
 * and without contrast. The stability study follows on the first seed's trajectories. One seed takes about a minute and
 * a half on two quiet cores. The last line is JSON.
 *
 *     node dist/bench/identification-demo.js [--seeds 1,2,3] [--size demo|tiny] [--identifications 10] [--cache DIR]
 *     [--out DIR]
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../activities/clock';
import { createCollectActivities } from '../activities/collect';
import { createIdentifyActivities } from '../activities/identify';
import { HttpModelClient } from '../activities/rollout';
import { createStudyActivities } from '../activities/study';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import { type Ablation, identificationSchema, type IdentifyArm } from '../contracts/artifacts/identification';
import type { IdentifyInput } from '../contracts/messages/identify-stage';
import { loadAgentSpec } from '../loaders/agent-spec';
import { DEMO_ANALYST_NAME, openDeskRules } from '../examples/orders-desk/analyst/answers';
import { Journal } from '../examples/shared/analyst/journal';
import { createAnalystServer } from '../examples/shared/analyst/server';
import { createAnalystPool } from '../llm';
import { openEnvironment } from '../sandbox';
import { getJson, layout, LocalStore, putJson } from '../store';
import { projectRoot } from '../contracts/project-root';
import { identifyOnce, runActivity } from './identification-demo/identify-without-server';
import { DESK, preparedDemoSpec, trainModel, withModel } from './shared/demo-model';

const ASSETS = join(DESK, 'analyst');

type IdentifyActivities = ReturnType<typeof createIdentifyActivities>;

interface ArmScore {
  found: number;
  missed: number;
  invented: number;
}

const precision = ({ found, invented }: ArmScore) => (found + invented === 0 ? null : found / (found + invented));
const recall = ({ found, missed }: ArmScore) => found / (found + missed);

/** What one way of choosing found on one seed; adds it to the sums over seeds. */
function addScores(sums: Map<IdentifyArm, ArmScore>, ablations: Ablation[]): Record<string, ArmScore> {
  return Object.fromEntries(
    ablations.map(({ arm, planted }) => {
      const score = {
        found: planted?.found.length ?? 0,
        missed: planted?.missed.length ?? 0,
        invented: planted?.invented.length ?? 0,
      };
      const sum = sums.get(arm) ?? { found: 0, missed: 0, invented: 0 };
      sums.set(arm, {
        found: sum.found + score.found,
        missed: sum.missed + score.missed,
        invented: sum.invented + score.invented,
      });
      return [arm, score];
    }),
  );
}

/** The stability study on what one seed collected; null for fewer than two identifications. */
async function studyStability(
  store: LocalStore,
  identify: IdentifyActivities,
  analystUrl: string,
  agent: string,
  { context, collected }: IdentifyInput,
  identifications: number,
) {
  if (identifications < 2) return null;
  const endpoints = {
    modelUrl: 'http://127.0.0.1:1/v1',
    modelPath: '/none',
    analyst: { demoUrl: analystUrl, model: null, apiKey: null, baseUrl: null },
  };
  const activities = createStudyActivities({ store, endpoints });
  const plan = await runActivity(activities.prepareStudy, {
    studyId: 'study-demo',
    agent,
    identifications,
    sourceRun: context.runId,
  });
  let recorded: ArtifactRef | null = null;
  for (let i = 0; i < identifications; i++) {
    const seed = plan.context.seed + i;
    const identified = await identifyOnce(identify, {
      context: { ...plan.context, runId: `study-demo.${i}`, seed },
      collected,
      independent: { firstRun: i },
    });
    const previous: ArtifactRef | null = recorded;
    recorded = await runActivity(activities.recordIdentification, { plan, seed, identified, previous });
  }
  return runActivity(activities.renderStudy, { plan, recorded: recorded as ArtifactRef });
}

async function main(): Promise<void> {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      seeds: string('1,2,3,4,5,6,7,8,9,10'),
      size: string('demo'),
      identifications: string('10'),
      cache: string(join(projectRoot(), '.whetstone', 'models')),
      out: string(''),
    },
  });
  const seeds = values.seeds.split(',').map(Number);
  if (seeds.some((seed) => !Number.isInteger(seed) || seed < 0 || seed > 999))
    throw new RangeError(`--seeds ${JSON.stringify(values.seeds)}: whole numbers from 0 to 999.`);
  const folder = values.out === '' ? await mkdtemp(join(tmpdir(), 'whet-identification-demo-')) : resolve(values.out);
  await mkdir(folder, { recursive: true });
  const store = new LocalStore(folder);
  const analystServer = createAnalystServer({ rules: openDeskRules(ASSETS), journal: new Journal(null) });
  const analystUrl = `${await analystServer.listen({ port: 0, host: '127.0.0.1' })}/v1`;
  const client = new HttpModelClient({ timeoutMs: 120_000 });
  const collect = createCollectActivities({
    store,
    openEnvironment,
    model: client,
    clock: systemClock,
    endpoints: { modelUrl: null },
  });
  const identify = createIdentifyActivities({ store, analyst: createAnalystPool('none') });
  const spec = loadAgentSpec(join(DESK, values.size === 'tiny' ? 'agent.tiny.yaml' : 'agent.yaml'));
  const scores = new Map<IdentifyArm, ArmScore>();
  const rows: unknown[] = [];
  let first: IdentifyInput | null = null;
  try {
    for (const seed of seeds) {
      const began = Date.now();
      const modelPath = await trainModel(seed, values.size, values.cache);
      const input = await withModel(modelPath, spec.model.name, async (modelBaseUrl): Promise<IdentifyInput> => {
        const runId = `run-${spec.name}-seed-${String(seed).padStart(3, '0')}`;
        const studied = { ...spec, identify: { ...spec.identify, ablations: true } };
        const prepared = await preparedDemoSpec(studied, seed, modelPath, modelBaseUrl, analystUrl);
        const context = {
          runId,
          agent: spec.name,
          spec: await putJson(store, layout.run(runId), 'spec.json', prepared),
          seed,
        };
        return { context, collected: await runActivity(collect.collectTrajectories, context) };
      });
      first ??= input;
      // `independent`: each seed is another agent, so what one lacks must not be searched for in the next.
      const result = await identifyOnce(identify, { ...input, independent: { firstRun: 0 } });
      const { ablations = [], contrasts } = await getJson(store, result.identification, identificationSchema);
      const arms = addScores(scores, ablations);
      const open = contrasts.filter(({ verdict }) => verdict === 'not-enough-data');
      const undecided = open.map(({ capabilityId }) => capabilityId);
      rows.push({ seed, successes: input.collected.successes, failures: input.collected.failures, arms, undecided });
      console.log(`seed ${seed} (${Math.round((Date.now() - began) / 1000)} s): ${JSON.stringify(rows.at(-1))}`);
    }
    const times = Number(values.identifications);
    const study = first && (await studyStability(store, identify, analystUrl, spec.name, first, times));
    if (values.out !== '') console.log(`study: ${study?.directory ?? 'none'}`);
    const arms = Object.fromEntries(
      [...scores].map(([arm, score]) => [arm, { precision: precision(score), recall: recall(score), ...score }]),
    );
    console.log(
      JSON.stringify({
        name: 'identification-demo',
        size: values.size,
        seeds: seeds.length,
        analyst: DEMO_ANALYST_NAME,
        arms,
        stability: study?.summary ?? null,
      }),
    );
  } finally {
    await client.close();
    await analystServer.close();
    if (values.out === '') await rm(folder, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
