/** What trains: environments, their checks and adapters, made at once. What each is follows from its content. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { adapterRecords } from '../../activities/reuse/adapter-records';
import { goesOnWith, type ReuseKey } from '../../activities/reuse/content-keys';
import { keepReusable, takeReusable } from '../../activities/reuse/reuse-records';
import { storeAdapter } from '../../activities/train/store-adapter';
import type { Certificate } from '../../contracts/artifacts/certificate';
import type { CalibrationResult } from '../../contracts/artifacts/environment-attempt';
import type { Validation } from '../../contracts/artifacts/environment-check';
import { reusableAdapterSchema } from '../../contracts/artifacts/reuse';
import type { TrainingManifest, TrialManifest } from '../../contracts/artifacts/training';
import type { JobActivities, LlmActivities, SandboxActivities } from '../../contracts/messages/activities';
import type { EnvironmentInput, TrainInput } from '../../contracts/messages/sharpen-stage';
import { readPreparedSpec } from '../../activities/prepared-spec';
import { layout, type LocalStore, putJson, readRegistry } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import { chance, type Habit, type World } from './world';
import { skillOf } from './stub-agent';

/** Rollouts that stand for a calibration and a training, in the table of spend. */
export const CALIBRATION_ROLLOUTS = 320;
const TRAINING_ROLLOUTS = 640;
/** Share of trainings that learn nothing. */
const UNTAUGHT = 0.1;

/** What was made anew, beside rollouts and labels. */
export interface Made {
  environments: number;
  trainings: number;
}

/** Counts an environment whose content no night had before. */
export function stubSynthesis(
  store: LocalStore,
  world: () => World,
  made: Made,
): LlmActivities['synthesiseEnvironment'] {
  const known = new Set<string>();
  return async ({ context, capability, attempt }) => {
    const text = `# ${capability.id} interface ${world().interface}\n`;
    if (!known.has(text)) made.environments++;
    known.add(text);
    const source = await store.put(layout.environments(context.runId, capability.id), `attempt-${attempt}.py`, text);
    return { source, promptTokens: 4_000, completionTokens: 2_000, model: 'stub' };
  };
}

/** Checks that always pass, as artifacts of the right form. */
export function stubChecks(store: LocalStore): Pick<SandboxActivities, 'validateEnvironment' | 'calibrateEnvironment'> {
  const validation: Validation = { passed: true, problems: [], checks: [] };
  const folder = ({ context, capability }: EnvironmentInput) => layout.environments(context.runId, capability.id);
  const certificate = (input: EnvironmentInput, calibration: CalibrationResult | null): Certificate => ({
    schemaVersion: 1,
    capability: input.capability.id,
    environment: { sha256: input.source.sha256, bytes: input.source.bytes },
    ...{ certified: calibration !== null, summary: 'made up', isolation: 'jail', checks: [], calibration },
    settings: { seeds: 1, diversitySeeds: 1, firstSeed: 0 },
    transfer: null,
  });
  return {
    validateEnvironment: async (input) => ({
      passed: true,
      playable: true,
      problems: [],
      detail: await putJson(store, folder(input), 'validation.json', validation),
      certificate: await putJson(store, folder(input), 'certificate.json', certificate(input, null)),
    }),
    calibrateEnvironment: async (input) => ({
      ...{ inBand: true, faulty: false, outcome: 'in band', promptTokens: 0, completionTokens: 0 },
      detail: await putJson(store, folder(input), 'calibration.json', CALIBRATION),
      certificate: await putJson(store, folder(input), 'certificate.json', certificate(input, CALIBRATION)),
    }),
  };
}

const CALIBRATION: CalibrationResult = {
  ...{
    seeds: 40,
    rolloutsPerSeed: 8,
    rollouts: CALIBRATION_ROLLOUTS,
    planned: CALIBRATION_ROLLOUTS,
    doubt: 0,
    rolloutsInMeans: 8,
  },
  ...{ meanReward: 0.4, meanSuccess: 0.4, allSuccessGroups: 0, allZeroGroups: 0, constantGroups: 0 },
  ...{ informativeGroups: 1, rewardStd: 0.3, passAt: {}, groupMeans: [], faulty: false },
  ...{ verdict: 'in-band', problems: [] },
};

const TRIAL: TrialManifest = {
  ...{ jobId: 'trial', trainerVersion: '0', pythonVersion: '3.13.0', packages: {}, platformVersion: null },
  ...{ devices: [], modelFiles: 0, jail: true, seconds: 0 },
};

/** A trainer that needs no time. The same content gives the same adapter, which is taken from the store. */
export function stubTrainer(
  store: LocalStore,
  world: () => World,
  habits: Map<string, Habit>,
  made: Made,
): JobActivities {
  return {
    tryTraining: async () => TRIAL,
    async trainAdapter(input) {
      const { context, job } = input;
      const { baseModelSha256 } = await readPreparedSpec(store, context.spec);
      const content = await contentOf(store, input, baseModelSha256);
      const plain = keyOf(content, baseModelSha256);
      const first = await takeReusable(store, context.agent, plain, reusableAdapterSchema, async (record) => record);
      // As the service's own: content that was trained before is trained on from the adapter that is named.
      const goesOn = first !== null && input.continues !== undefined;
      const text = goesOn ? `${content}\n${input.continues}` : content;
      const key = goesOn ? keyOf(content, baseModelSha256, input.continues) : plain;
      const found = goesOn
        ? await takeReusable(store, context.agent, key, reusableAdapterSchema, async (record) => record)
        : ((await servedFurther(store, input, plain)) ?? first);
      if (found !== null) return { ...found.adapter, reusedFrom: found.runId };
      made.trainings++;
      const skill = skillOf(job);
      const learned = skill !== null && chance('training', text) >= UNTAUGHT;
      const adapter = await train(store, input, { text, baseModelSha256, learned });
      // The decoy teaches what no task calls for.
      habits.set(adapter.name, { skill: skill ?? 'refunds', interface: world().interface, learned });
      await keepReusable(store, context.agent, key, { runId: context.runId, adapter });
      return adapter;
    },
  };
}

const keyOf = (text: string, baseModel: string, continues?: string): ReuseKey => ({
  kind: 'adapter',
  sha256: createHash('sha256')
    .update(`${text}\n${continues ?? ''}`)
    .digest('hex'),
  dependsOn: { baseModel, text, ...(continues !== undefined && { continues }) },
});

/** What is served for the same content, where it was trained on. */
async function servedFurther(store: LocalStore, { context, job }: TrainInput, key: ReuseKey) {
  const { active, versions } = await readRegistry(store, context.agent);
  const served = versions.find(({ version }) => version === active)?.adapters;
  const own = served?.find(({ capabilityId }) => capabilityId === job);
  const record = own && (await adapterRecords(store, context.agent)).get(own.sha256);
  return record !== undefined && goesOnWith(key, record.dependsOn) ? record : null;
}

async function contentOf(store: LocalStore, { job, environments }: TrainInput, baseModel: string): Promise<string> {
  const sources: string[] = [];
  for (const { source } of environments) sources.push(String(await store.get(source)));
  return `${job}\n${baseModel}\n${sources.join('')}`;
}

async function train(
  store: LocalStore,
  { context, job }: TrainInput,
  { text, baseModelSha256, learned }: { text: string; baseModelSha256: string; learned: boolean },
) {
  const key = layout.training(context.runId, job);
  const directory = store.localPath(key);
  const adapterDir = join(directory, 'adapter');
  await mkdir(adapterDir, { recursive: true });
  await writeFile(join(adapterDir, 'adapter_config.json'), '{}');
  await writeFile(join(adapterDir, 'adapter_model.safetensors'), text);
  const reward = (iteration: number) => 0.2 + (learned ? 0.07 * iteration : 0);
  const manifest: TrainingManifest = {
    ...{ jobId: key, jobSha256: '0'.repeat(64), baseModelSha256, adapterDir, iterations: 10, trainerVersion: '0' },
    adapterSha256: await modelDirectorySha256(adapterDir),
    ...{ rollouts: TRAINING_ROLLOUTS, seconds: { total: 0, generation: 0, update: 0, startup: 0 } },
    ...{ completionTokens: 0, finalReward: reward(10), environmentSha256: [] },
    curve: Array.from({ length: 10 }, (_, i) => ({ iteration: i + 1, reward: reward(i + 1), kl: 0, loss: 0 })),
  };
  return storeAdapter(store, context.agent, job, { key, directory } as Parameters<typeof storeAdapter>[3], manifest);
}
