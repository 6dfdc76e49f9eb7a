/**
 * Compares what identification finds with the planted deficits of the orders desk. For each seed, the recipe trains a
 * base model, which is rolled out on the train tasks. The demo analyst (rule-based) then identifies capabilities, with
 * and without contrast. The stability study follows on the first seed's trajectories. One seed takes about a minute and
 * a half on two quiet cores. The last line is JSON.
 *
 *     node dist/bench/identification-demo.js [--seeds 1,2,3] [--size demo|tiny] [--identifications 10] [--cache DIR]
 *     [--out DIR]
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../activities/clock';
import { createCollectActivities } from '../activities/collect';
import { createIdentifyActivities } from '../activities/identify';
import { modelDirectorySha256 } from '../store/model-hash';
import { HttpModelClient } from '../activities/rollout';
import { createStudyActivities } from '../activities/study';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import { type Ablation, identificationSchema, type IdentifyArm } from '../contracts/artifacts/identification';
import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import type { AgentSpec } from '../contracts/config/agent-spec';
import type { IdentifyInput } from '../contracts/messages/identify-stage';
import { loadAgentSpec } from '../loaders/agent-spec';
import { DEMO_ANALYST_MODEL, DEMO_ANALYST_NAME, openDeskRules } from '../examples/orders-desk/analyst/answers';
import { Journal } from '../examples/shared/analyst/journal';
import { createAnalystServer } from '../examples/shared/analyst/server';
import { createAnalystPool } from '../llm';
import { openEnvironment } from '../sandbox';
import { getJson, layout, LocalStore, putJson } from '../store';
import { projectRoot } from '../contracts/project-root';
import { identifyOnce, runActivity } from './identification-demo/identify-without-server';

const DESK = join(projectRoot(), 'examples', 'orders-desk');
const ASSETS = join(DESK, 'analyst');
const PYTHON = join(projectRoot(), '.toolchain', 'venv', 'bin', 'python');
const ENVIRONMENT = { ...process.env, PYTHONPATH: join(projectRoot(), 'trainer-image') };

/** Directory of the seed's base model, trained unless the cache has it. */
async function trainModel(seed: number, size: string, cache: string): Promise<string> {
  const child = spawn(PYTHON, [join(DESK, 'recipe.py'), '--seed', String(seed), '--size', size, '--cache', cache], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: ENVIRONMENT,
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  const code = await new Promise((done) => child.once('exit', done));
  if (code !== 0) throw new Error(`The recipe ended with ${String(code)}.`);
  return (JSON.parse(output.trim().split('\n').at(-1) as string) as { path: string }).path;
}

/** Serves a model while `action` runs; the argument is the base URL. */
async function withModel<T>(path: string, name: string, action: (url: string) => Promise<T>): Promise<T> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const child = spawn(
    PYTHON,
    ['-m', 'whetstone.serve', '--model', path, '--port', String(port), '--served-name', name],
    { stdio: 'ignore', env: ENVIRONMENT },
  );
  try {
    for (let attempt = 0; ; attempt++) {
      const ready = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null);
      if (ready?.ok) break;
      if (attempt === 240 || child.exitCode !== null) throw new Error('The policy server did not start.');
      await delay(500);
    }
    return await action(`http://127.0.0.1:${port}/v1`);
  } finally {
    child.kill('SIGTERM');
  }
}

type IdentifyActivities = ReturnType<typeof createIdentifyActivities>;

interface ArmScore {
  found: number;
  missed: number;
  invented: number;
}

const precision = ({ found, invented }: ArmScore) => (found + invented === 0 ? null : found / (found + invented));
const recall = ({ found, missed }: ArmScore) => found / (found + missed);

/** The prepared spec of one seed's run, as `prepareRun` would freeze it. */
async function preparedSpec(
  spec: AgentSpec,
  seed: number,
  modelPath: string,
  modelBaseUrl: string,
  analystUrl: string,
): Promise<PreparedSpec> {
  const environmentPath = join(DESK, 'environment.py');
  return {
    spec: { ...spec, seed, identify: { ...spec.identify, ablations: true } },
    environmentPath,
    environmentSha256: createHash('sha256')
      .update(await readFile(environmentPath))
      .digest('hex'),
    modelBaseUrl,
    modelPath,
    baseModelSha256: await modelDirectorySha256(modelPath),
    analyst: { baseUrl: analystUrl, model: DEMO_ANALYST_MODEL, displayName: DEMO_ANALYST_NAME },
    sandbox: { mode: 'jail', detail: 'only the owner environment is run' },
  };
}

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
        const prepared = await preparedSpec(spec, seed, modelPath, modelBaseUrl, analystUrl);
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
    const study =
      first === null
        ? null
        : await studyStability(store, identify, analystUrl, spec.name, first, Number(values.identifications));
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
